package steps

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// What a call may end with, to be used with errors.Is on the error of
// [Tool.Call].
var (
	// ErrDenied: the step has no grant for the tool, or there is no such tool.
	ErrDenied = errors.New("denied")
	// ErrInvalid: the request cannot be sent as it is; nothing was sent.
	ErrInvalid = errors.New("invalid")
	// ErrRejected: the receiver refused for good; the effect did not happen.
	ErrRejected = errors.New("rejected")
	// ErrNotApplied: not this time; the effect did not happen. Retryable.
	ErrNotApplied = errors.New("not applied")
	// ErrBudget: the step's own limit of calls is spent.
	ErrBudget = errors.New("budget spent")
	// ErrCancelled: the run is being cancelled; the effect did not happen.
	ErrCancelled = errors.New("cancelled")
	// ErrDeadline: a read got no answer in time. Retryable.
	ErrDeadline = errors.New("no answer in time")
	// ErrUnknown: it is not known whether the effect happened. Only calls with
	// [SeeUnknown] end so.
	ErrUnknown = errors.New("outcome unknown")
)

type statusInfo struct {
	name string
	err  error
}

var statuses = map[abi.Status]statusInfo{
	abi.Denied:     {"denied", ErrDenied},
	abi.Invalid:    {"invalid", ErrInvalid},
	abi.Rejected:   {"rejected", ErrRejected},
	abi.NotApplied: {"not_applied", ErrNotApplied},
	abi.Budget:     {"budget", ErrBudget},
	abi.Cancelled:  {"cancelled", ErrCancelled},
	abi.Deadline:   {"deadline", ErrDeadline},
	abi.Unknown:    {"unknown", ErrUnknown},
}

// CallError is the error of a call that the tool did not do. It matches one of
// the sentinels above.
type CallError struct {
	// Tool is the name of the tool as the step calls it.
	Tool   string
	Status abi.Status
	// Code says more than the status, such as "http_422"; "call_" and the
	// status if there is nothing more to say.
	Code    string
	Message string
	// Retryable says that the next attempt makes the call again.
	Retryable bool
	// After is the least wait before that; 0 if the receiver did not say.
	After time.Duration
	// Response is what the receiver answered; zero if it did not.
	Response Response
}

func newCallError(tool string, r *result) *CallError {
	e := &CallError{
		Tool: tool, Status: r.status, Code: r.head.Code, Message: r.head.Message,
		Retryable: r.head.Retryable, After: time.Duration(r.head.AfterMS) * time.Millisecond, Response: r.response(),
	}
	if e.Code == "" {
		e.Code = "call_" + e.statusName()
	}
	return e
}

func (e *CallError) statusName() string {
	if info, ok := statuses[e.Status]; ok {
		return info.name
	}
	return fmt.Sprintf("status_%d", uint32(e.Status))
}

func (e *CallError) Error() string {
	if e.Message != "" {
		return e.Tool + ": " + e.Message
	}
	if info, ok := statuses[e.Status]; ok {
		return e.Tool + ": " + info.err.Error()
	}
	return e.Tool + ": " + e.statusName()
}

// Is reports whether target is the sentinel of the status.
func (e *CallError) Is(target error) bool {
	info, ok := statuses[e.Status]
	return ok && info.err == target
}

// ResponseError is the error of a call that was done and whose response does not
// fit the Go type. The effect happened and stays recorded: a module with another
// type, not another call, helps.
type ResponseError struct {
	Tool string
	Body []byte
	Err  error
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("%s: it was done, but its response cannot be read: %v", e.Tool, e.Err)
}

// Unwrap returns why the response could not be read.
func (e *ResponseError) Unwrap() error { return e.Err }
