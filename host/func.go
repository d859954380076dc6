package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/host/abi"
)

// FuncOptions are the options of [Func]. The zero value is right for a
// function of the class once that nobody can ask.
type FuncOptions struct {
	// Contract is what the function promises. Its Kind defaults to "go", and
	// its Verifies is set if there is a Verify. Defaults to the class once.
	Contract Contract
	// Verify says what became of the key of c: found with the response of then,
	// not found, or an error if that cannot be said now. It must change nothing.
	// Defaults to nil: the tool cannot be asked.
	Verify func(ctx context.Context, c *Call) (response any, found bool, err error)
	// Units reads from a response what it cost, for the units that the contract
	// names. Defaults to nothing.
	Units func(response any) map[string]int64
}

// Func makes a tool of a Go function whose plain error, or panic, means an
// UNKNOWN outcome: that the effect may have happened. Return [Rejected] or
// [NotApplied] for an error after which it is certain that it did not. (A read
// has no unknown: its error is an answer that did not come.) No error means
// that the effect happened, by this call or by an earlier one with its key.
//
// The function must return soon after ctx ends and must not repeat an effect
// by itself; what it calls is given the key of c where that knows keys. It may
// be called concurrently. Requests and responses are JSON, or raw bytes where
// Req or Res is []byte. A request that is no Req is invalid and never sent.
func Func[Req, Res any](name string, f func(ctx context.Context, c *Call, req Req) (Res, error), opts *FuncOptions) Tool {
	if opts == nil {
		opts = &FuncOptions{}
	}
	t := &funcTool[Req, Res]{name: name, f: f, contract: opts.Contract.WithDefaults(), units: opts.Units}
	setDefault(&t.contract.Kind, "go")
	if opts.Verify == nil {
		return t
	}
	t.contract.Verifies = true
	return &askedFunc[Req, Res]{funcTool: t, verify: opts.Verify}
}

type funcTool[Req, Res any] struct {
	name     string
	f        func(ctx context.Context, c *Call, req Req) (Res, error)
	contract Contract
	units    func(response any) map[string]int64
}

func (t *funcTool[Req, Res]) ID() string { return t.name }

func (t *funcTool[Req, Res]) Contract() Contract { return t.contract }

// Check says whether the request can be read as a Req.
func (t *funcTool[Req, Res]) Check(c *Call) error {
	_, err := decode[Req](c)
	return err
}

func (t *funcTool[Req, Res]) Try(ctx context.Context, c *Call) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = Answer{Code: codePanic, Message: panicMessage(v)}
		}
	}()
	req, err := decode[Req](c)
	if err != nil {
		return Answer{Outcome: OutcomeRejected, Code: "invalid_request", Message: err.Error()}
	}
	c.Sent()
	res, err := t.f(ctx, c, req)
	if err != nil {
		return failed(ctx, err)
	}
	a = Answer{Outcome: OutcomeApplied, Settles: true}
	if a.Response, err = respond(res); err != nil {
		return Answer{Code: "bad_response", Message: "the function succeeded, but its response cannot be written: " + err.Error()}
	}
	if t.units != nil {
		a.Units = t.units(res)
	}
	return a
}

// failed reads an outcome from the error of a function.
func failed(ctx context.Context, err error) Answer {
	var known *knownError
	switch {
	case errors.As(err, &known):
		return Answer{Outcome: known.outcome, Settles: known.outcome == OutcomeRejected, Code: known.outcome.String(), Message: err.Error()}
	case ctx.Err() != nil:
		return Answer{Code: codeNoAnswer, Message: err.Error()}
	}
	return Answer{Code: "error", Message: err.Error()}
}

// askedFunc is a function that can be asked.
type askedFunc[Req, Res any] struct {
	*funcTool[Req, Res]
	verify func(ctx context.Context, c *Call) (response any, found bool, err error)
}

func (t *askedFunc[Req, Res]) Verify(ctx context.Context, c *Call) Verdict {
	res, found, err := t.verify(ctx, c)
	if err != nil {
		return Verdict{Code: "error", Message: err.Error()}
	}
	if !found {
		return Verdict{Kind: Absent}
	}
	v := Verdict{Kind: Found}
	if v.Response, err = respond(res); err != nil {
		return Verdict{Code: "bad_response", Message: "the effect was found, but its response cannot be written: " + err.Error()}
	}
	if t.units != nil {
		v.Units = t.units(res)
	}
	return v
}

// decode reads a request. Bytes are taken as they are.
func decode[Req any](c *Call) (req Req, err error) {
	if raw, ok := any(&req).(*[]byte); ok {
		*raw = c.Body
		return req, nil
	}
	if c.Type != abi.TypeJSON {
		return req, fmt.Errorf("host: %s takes JSON, not %q", c.Tool, c.Type)
	}
	if err := json.Unmarshal(c.Body, &req); err != nil {
		return req, fmt.Errorf("host: the request does not fit %s: %w", c.Tool, err)
	}
	return req, nil
}

func respond(res any) (Response, error) {
	if raw, ok := res.([]byte); ok {
		return Response{Type: abi.TypeBytes, Body: raw}, nil
	}
	text, err := json.Marshal(res)
	if err != nil {
		return Response{}, err
	}
	return Response{Type: abi.TypeJSON, Body: text}, nil
}

// Rejected wraps the error of a tool's function to say that the effect did not
// happen, by no try with this key, and never will. It returns nil for nil.
func Rejected(err error) error { return know(OutcomeRejected, err) }

// NotApplied wraps the error of a tool's function to say that this try changed
// nothing, such as when it could not connect; trying again may help. It says
// nothing of earlier tries. It returns nil for nil.
func NotApplied(err error) error { return know(OutcomeNotApplied, err) }

func know(outcome Outcome, err error) error {
	if err == nil {
		return nil
	}
	return &knownError{outcome: outcome, err: err}
}

// knownError is an error that tells the outcome.
type knownError struct {
	outcome Outcome
	err     error
}

func (e *knownError) Error() string { return e.err.Error() }

func (e *knownError) Unwrap() error { return e.err }
