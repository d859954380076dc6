package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kinds of a line.
const (
	kindRequest = "request"
	kindEffect  = "effect"
)

// Line is one line of a ledger.
type Line struct {
	N      int             `json:"n"`    // from 1, over all ledgers of the directory
	Kind   string          `json:"kind"` // request | effect
	Tool   string          `json:"tool"` // such as pay.refund, or pay.refund.verify for its query
	Method string          `json:"method"`
	Path   string          `json:"path"` // with the query
	Key    string          `json:"key,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Fault  string          `json:"fault,omitempty"`  // of a request: the mode that it met
	Status int             `json:"status,omitempty"` // of an effect: what is answered for it, also when asked again
	Answer json.RawMessage `json:"answer,omitempty"`
	At     time.Time       `json:"at"`
}

func (l *Line) service() string {
	name, _, _ := strings.Cut(l.Tool, ".")
	return name
}

// ledger is the files of a directory. Lines are durable when append returns.
type ledger struct {
	dir string

	mu    sync.Mutex // guards what follows
	files map[string]*os.File
	lines []Line
}

func openLedger(dir string) (*ledger, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &ledger{dir: dir, files: map[string]*os.File{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if filepath.Ext(file.Name()) != ".jsonl" {
			continue
		}
		if err := l.load(filepath.Join(dir, file.Name())); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.lines, func(a, b Line) int { return a.N - b.N })
	return l, nil
}

// load reads one file. A last line without its end was never answered for: the
// process died while writing it.
func (l *ledger) load(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if len(whole) < len(text) {
		if err := os.Truncate(name, int64(len(whole))); err != nil {
			return err
		}
	}
	n := 0
	for text := range bytes.Lines(whole) {
		n++
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		l.lines = append(l.lines, line)
	}
	return nil
}

func (l *ledger) append(line *Line) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line.N, line.At = 1, time.Now().UTC()
	if len(l.lines) > 0 {
		line.N = l.lines[len(l.lines)-1].N + 1
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := l.file(line.service())
	if err != nil {
		return err
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	l.lines = append(l.lines, *line)
	return nil
}

func (l *ledger) file(service string) (*os.File, error) {
	if f, ok := l.files[service]; ok {
		return f, nil
	}
	f, err := os.OpenFile(filepath.Join(l.dir, service+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	l.files[service] = f
	return f, nil
}

func (l *ledger) all() []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Line{}, l.lines...)
}

// effects lists the effects of a tool, and all of its service if tool ends in a
// full stop.
func (l *ledger) effects(tool string) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Line
	for _, line := range l.lines {
		if line.Kind == kindEffect && (line.Tool == tool || strings.HasSuffix(tool, ".") && strings.HasPrefix(line.Tool, tool)) {
			out = append(out, line)
		}
	}
	return out
}

func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		_ = f.Close() // every line was synced when it was written
	}
}
