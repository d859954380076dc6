package steps

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pawl-dev/pawl/host/abi"
)

// This file has no build constraint: with one, an author's tests would not vet
// for the guest's platform. The linker drops it from modules.

// Tools are the fakes of [Test], by the name that the step calls. A fake gets
// the request's body and returns the response (written as JSON, a []byte or a
// [Response] as it is, nil for none), or what became of the call otherwise:
// [Answer], a [*CallError] of its own, or any error that wraps one of the
// sentinels such as [ErrRejected]. A call of a tool that is not there is denied.
//
// Any other error is an unknown outcome, as it is of a real tool: the step is
// not told (unless it asked to [SeeUnknown]), and Test ends as the run would
// stop there.
type Tools map[string]func(req json.RawMessage) (any, error)

// Answer is what a fake returns for a call that did not succeed: one of the
// sentinels, with the code and the message that the step is to see.
func Answer(sentinel error, code, message string) error {
	return &CallError{Status: statusOf(sentinel), Code: code, Message: message}
}

// Test runs a registered step as an ordinary Go function on input, which is
// written as JSON first, and returns its output. The error is a [*Failure],
// which says how the run would go on and wraps the step's own error; or an error
// that wraps what a fake returned when the outcome of a call was left unknown.
//
// Steps run so see the real clock, real random numbers and the real machine: what
// does not work in a guest works here. Log lines go to standard error. Several
// tests may run at once.
func Test(name string, input any, tools Tools) (output json.RawMessage, err error) {
	text, err := encode(input)
	if err != nil {
		return nil, fmt.Errorf("steps.Test(%q): the input cannot be written as JSON: %w", name, err)
	}
	o := &fakes{step: name, tools: tools}
	out, failure := run(name, text, o)
	if stopped := o.stoppedBy(); stopped != nil {
		return nil, stopped
	}
	if failure != nil {
		return nil, failure
	}
	return out, nil
}

// fakes is the outside of a step in a test.
type fakes struct {
	step  string
	tools Tools

	mu      sync.Mutex // guards stopped
	stopped error
}

func (o *fakes) call(tool string, head abi.CallHead, body []byte) (*result, error) {
	fake, ok := o.tools[tool]
	if !ok {
		return failed(&CallError{Status: abi.Denied, Code: "denied", Message: "steps.Test was given no such tool"}), nil
	}
	res, err := fake(json.RawMessage(body))
	if err != nil {
		call := asCallError(err)
		if call.Status != abi.Unknown || head.Unknown {
			return failed(call), nil
		}
		o.stop(fmt.Errorf("steps.Test(%q): %s left its outcome unknown, a run would stop here: %w", o.step, tool, err))
	}
	return succeeded(res)
}

// stop ends the step in the middle of a call, as a run is ended that waits for
// a person.
func (o *fakes) stop(err error) {
	o.mu.Lock()
	if o.stopped == nil {
		o.stopped = err
	}
	o.mu.Unlock()
	panic(err)
}

func (o *fakes) stoppedBy() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stopped
}

func (o *fakes) put(kind abi.PutKind, data []byte) {
	fmt.Fprintf(os.Stderr, "%-5s %s: %s\n", putNames[kind], o.step, data)
}

var putNames = map[abi.PutKind]string{abi.PutDebug: "debug", abi.PutInfo: "info", abi.PutWarn: "warn", abi.PutError: "error"}

func succeeded(res any) (*result, error) {
	switch body := res.(type) {
	case nil:
		return &result{}, nil
	case []byte:
		return Response{Body: body}.result(), nil
	case Response:
		return body.result(), nil
	}
	body, err := encode(res)
	if err != nil {
		return nil, fmt.Errorf("steps.Test: the fake's response cannot be written as JSON: %w", err)
	}
	return Response{JSON: true, Body: body}.result(), nil
}

func failed(e *CallError) *result {
	r := e.Response.result()
	r.status, r.head.Code, r.head.Message = e.Status, e.Code, e.Message
	r.head.Retryable, r.head.AfterMS = e.Status.Retryable(), milliseconds(e.After)
	return r
}

func asCallError(err error) *CallError {
	var call *CallError
	if errors.As(err, &call) {
		return call
	}
	return &CallError{Status: statusOf(err), Message: err.Error()}
}

func statusOf(err error) abi.Status {
	for status, info := range statuses {
		if errors.Is(err, info.err) {
			return status
		}
	}
	return abi.Unknown
}
