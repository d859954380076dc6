package fakes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// Fault is what the receivers are told to do wrong.
type Fault struct {
	Tool  string `json:"tool"`
	Mode  string `json:"mode"`
	Match string `json:"match,omitempty"`
	Times int    `json:"times,omitempty"` // 0 is once, -1 for ever
}

// Set sets a fault.
func (p *Process) Set(ctx context.Context, f Fault) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = p.do(ctx, "POST", "/_control", body)
	return err
}

// Hold implements [crashtest.Receivers].
func (p *Process) Hold(ctx context.Context, tool string, when crashtest.When) (<-chan struct{}, error) {
	held := make(chan struct{})
	p.mu.Lock()
	p.holds = append(p.holds, hold{fmt.Sprintf("held %s %s ", tool, when), held})
	p.mu.Unlock()
	return held, p.Set(ctx, Fault{Tool: tool, Mode: "hold-" + string(when), Times: 1})
}

// Fail implements [crashtest.Faulty].
func (p *Process) Fail(ctx context.Context, tool string, mode crashtest.Mode) error {
	return p.Set(ctx, Fault{Tool: tool, Mode: string(mode), Times: 1})
}

// Line is one line of the ledgers.
type Line struct {
	Kind   string          `json:"kind"` // effect or request
	Tool   string          `json:"tool"`
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Key    string          `json:"key"`
	Body   json.RawMessage `json:"body"`
}

// Ledger returns all lines in the order in which they were written.
func (p *Process) Ledger(ctx context.Context) (lines []Line, err error) {
	text, err := p.do(ctx, "GET", "/_ledger", nil)
	if err != nil {
		return nil, err
	}
	return lines, json.Unmarshal(text, &lines)
}

// Effects implements [crashtest.Receivers].
func (p *Process) Effects(ctx context.Context) (effects []crashtest.Effect, err error) {
	lines, err := p.Ledger(ctx)
	for _, l := range lines {
		if l.Kind == "effect" {
			effects = append(effects, crashtest.Effect{
				Tool: l.Tool, Key: l.Key, Body: fmt.Sprintf("%s %s %s", l.Method, l.Path, l.Body),
			})
		}
	}
	return effects, err
}

// Requests implements [crashtest.Receivers].
func (p *Process) Requests(ctx context.Context) (requests []crashtest.Request, err error) {
	lines, err := p.Ledger(ctx)
	for _, l := range lines {
		if l.Kind == "request" {
			requests = append(requests, crashtest.Request{Tool: l.Tool, Key: l.Key})
		}
	}
	return requests, err
}

func (p *Process) do(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	u := url.URL{Scheme: "http", Host: p.addr, Path: path}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fakes: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("fakes: %s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(text))
	}
	return text, err
}
