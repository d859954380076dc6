package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// The tools that every engine has: values that steps keep in the store. A
// change and its receipt are one batch, so that it happens exactly once and its
// outcome is never unknown. A step names them among its tools as it names any.
//
// A request is a [ValueRequest], a response a [ValueResponse]. A change whose
// expectation does not hold is rejected with the code "conflict" and the
// present value in the response.
const (
	ToolGet    = "kv.get"    // reads a value
	ToolPut    = "kv.put"    // sets one
	ToolDelete = "kv.delete" // deletes one; deleting what is not there is no error
)

// ValueRequest is the request of [ToolGet], [ToolPut] and [ToolDelete].
type ValueRequest struct {
	// Scope says whose the value is: "run" (the default) or "workflow", which
	// all runs of the workflow's name share, of every version.
	Scope string `json:"scope,omitempty"`
	// Key is 1 to 256 bytes of text without control characters.
	Key string `json:"key"`
	// Value is any JSON up to 256 KiB; only for put.
	Value json.RawMessage `json:"value,omitempty"`
	// Expect lets the change happen only if the value is that, Absent only if
	// there is none. Only for put and delete.
	Expect json.RawMessage `json:"expect,omitempty"`
	Absent bool            `json:"absent,omitempty"`
}

// ValueResponse is the response of [ToolGet] and of a change that was rejected
// as a conflict; other changes answer {}.
type ValueResponse struct {
	Found bool            `json:"found"`
	Value json.RawMessage `json:"value,omitempty"`
}

const (
	maxValueKey = 256
	maxValue    = 256 << 10
	// codeConflict is the code of a change whose expectation did not hold.
	codeConflict = "conflict"

	scopeRun      = "run"
	scopeWorkflow = "workflow"
)

// insideTool is one of the tools above. It is never sent: see [attempt.inside].
type insideTool string

var _ host.Checker = insideTool("")

var insideTools = []insideTool{ToolGet, ToolPut, ToolDelete}

// ID implements [host.Tool].
func (t insideTool) ID() string { return string(t) }

// Contract implements [host.Tool].
func (t insideTool) Contract() host.Contract {
	c := host.Contract{Kind: "store", Effect: host.Keyed}
	if t == ToolGet {
		c.Effect = host.Read
	}
	return c.WithDefaults()
}

// Try implements [host.Tool].
func (t insideTool) Try(context.Context, *host.Call) host.Answer {
	return host.Answer{Outcome: host.OutcomeNotApplied, Code: "not_sent", Message: "a tool of the store is not sent"}
}

// Check implements [host.Checker].
func (t insideTool) Check(c *host.Call) error {
	_, err := t.request(c)
	return err
}

// request reads a request strictly: a field that is misspelt would change what
// the change depends on.
func (t insideTool) request(c *host.Call) (*ValueRequest, error) {
	r := &ValueRequest{Scope: scopeRun}
	if c.Type != abi.TypeJSON {
		return nil, fmt.Errorf("%s takes JSON, not %q", t, c.Type)
	}
	d := json.NewDecoder(bytes.NewReader(c.Body))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s takes {\"scope\",\"key\",\"value\",\"expect\",\"absent\"}: %w", t, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s takes one JSON object", t)
	}
	switch {
	case r.Scope != scopeRun && r.Scope != scopeWorkflow:
		return nil, fmt.Errorf("%s: scope %q; there are %q and %q", t, r.Scope, scopeRun, scopeWorkflow)
	case r.Key == "" || len(r.Key) > maxValueKey || !utf8.ValidString(r.Key) || strings.ContainsFunc(r.Key, isControl):
		return nil, fmt.Errorf("%s: the key must be 1 to %d bytes of text without control characters", t, maxValueKey)
	case t == ToolPut && r.Value == nil:
		return nil, fmt.Errorf("%s: the value is missing (null is one: \"value\": null)", t)
	case t != ToolPut && r.Value != nil:
		return nil, fmt.Errorf("%s takes no value", t)
	case len(r.Value) > maxValue:
		return nil, fmt.Errorf("%s: the value has %d bytes; at most %d", t, len(r.Value), maxValue)
	case t == ToolGet && (r.Expect != nil || r.Absent):
		return nil, fmt.Errorf("%s expects nothing: leave expect and absent out", t)
	case r.Expect != nil && r.Absent:
		return nil, fmt.Errorf("%s: expect and absent exclude each other", t)
	}
	return r, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// tool returns the tool with the id: one of the store, or the operator's.
func (e *Engine) tool(id string) (host.Tool, bool) {
	if t := insideTool(id); slices.Contains(insideTools, t) {
		return t, true
	}
	return e.opts.Tools.Tool(id)
}

// checkTools refuses tools that take the place of those of the store.
func checkTools(tools *host.Registry) error {
	for _, t := range insideTools {
		if _, ok := tools.Tool(t.ID()); ok {
			return fmt.Errorf("pawl: the tool %s is the store's own; give the registered one another name", t)
		}
	}
	return nil
}

// inside carries out a call of a tool of the store.
func (a *attempt) inside(ctx context.Context, r *sandbox.Request, t insideTool, c *host.Call, occurrence uint32) (*sandbox.Reply, error) {
	request, err := t.request(c)
	if err != nil {
		return nil, err // Check has refused it before
	}
	var key []byte
	a.run.Read(func(s *journal.State) {
		key = journal.RunValueKey(s.Start.Run, request.Key)
		if request.Scope == scopeWorkflow {
			key = journal.WorkflowValueKey(s.Start.Workflow, request.Key)
		}
	})
	receipt, err := a.run.Inside(ctx, &journal.InsideCall{
		Step: a.index, Grant: r.Tool, Call: c, Contract: t.Contract(), Occurrence: occurrence, Key: key,
		Apply: func(value []byte, found bool) journal.InsideResult { return t.apply(request, value, found) },
	})
	if err != nil {
		return nil, err
	}
	return a.reply(ctx, receipt)
}

// apply decides what comes of a request when the value is as given.
func (t insideTool) apply(r *ValueRequest, value []byte, found bool) journal.InsideResult {
	present := ValueResponse{Found: found, Value: value}
	switch {
	case t == ToolGet:
		return journal.InsideResult{Response: mustJSON(present)}
	case r.Absent && found, r.Expect != nil && !(found && sameJSON(value, r.Expect)):
		return journal.InsideResult{
			Rejected: codeConflict, Message: fmt.Sprintf("the value of %q is not the expected one", r.Key),
			Response: mustJSON(present),
		}
	case t == ToolDelete:
		return journal.InsideResult{Change: journal.DeleteValue, Response: []byte("{}")}
	}
	return journal.InsideResult{Change: journal.SetValue, Value: r.Value, Response: []byte("{}")}
}

// mustJSON writes a value that always has a JSON form.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// sameJSON reports whether two texts mean the same. What has no canonical form
// is compared by its bytes.
func sameJSON(a, b []byte) bool {
	x, errX := host.RequestHash("", abi.TypeJSON, "", false, a)
	y, errY := host.RequestHash("", abi.TypeJSON, "", false, b)
	if errX != nil || errY != nil {
		return bytes.Equal(a, b)
	}
	return x == y
}
