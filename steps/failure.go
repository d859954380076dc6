package steps

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// Failure is an error that says how the run goes on. [Fail] and [NotYet] make
// one; a step may also return one of its own, for instance with Detail.
type Failure struct {
	// Code is what failures are shown, counted and grouped by: [a-z0-9_]{1,64}.
	// Anything else in it is replaced by an underscore.
	Code    string
	Message string
	// Retry defaults to abi.Again.
	Retry abi.Retry
	// After is the least wait before the next attempt.
	After time.Duration
	// Detail is shown with the failure, as JSON.
	Detail any

	err error
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Unwrap returns the error that the failure was made of, if any.
func (f *Failure) Unwrap() error { return f.err }

// Fail says that no further attempt helps: the step fails for good, and the run
// with it until a person does something. The format is that of fmt.Errorf.
func Fail(code, format string, args ...any) error {
	return newFailure(code, abi.Never, 0, fmt.Errorf(format, args...))
}

// NotYet says that what the step looked at is not ready: the next attempt begins
// after the wait at the earliest and looks again, also at what was read before.
// Effects that were done stay done. The format is that of fmt.Errorf.
func NotYet(after time.Duration, format string, args ...any) error {
	return newFailure("not_yet", abi.Fresh, after, fmt.Errorf(format, args...))
}

func newFailure(code string, retry abi.Retry, after time.Duration, err error) *Failure {
	return &Failure{Code: cleanCode(code), Message: err.Error(), Retry: retry, After: after, err: err}
}

// asFailure says what an error of a step means: what it says itself, else that
// the step is to be tried again.
func asFailure(err error) *Failure {
	var own *Failure
	if errors.As(err, &own) {
		f := *own
		if err != error(own) { //nolint:errorlint // is it the failure itself?
			f.Message, f.err = err.Error(), err
		}
		f.Code = cleanCode(f.Code)
		if f.Retry == "" {
			f.Retry = abi.Again
		}
		return &f
	}
	f := newFailure("error", abi.Again, 0, err)
	var call *CallError
	var response *ResponseError
	switch {
	case errors.As(err, &call):
		f.Code, f.After = callCode(call), call.After
	case errors.As(err, &response):
		f.Code = "bad_response"
	}
	return f
}

// callCode names the failure of a step by what its call came to. No answer in
// time has one name, whatever the kind of tool calls it.
func callCode(e *CallError) string {
	if e.Status == abi.Deadline || e.Code == "" {
		return "call_" + e.statusName()
	}
	return cleanCode(e.Code)
}

func cleanCode(code string) string {
	if abi.ValidCode(code) {
		return code
	}
	const most = 64
	if code == "" {
		return "error"
	}
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(code))
	return clean[:min(len(clean), most)]
}

// put writes the failure as the sandbox takes it.
func (f *Failure) put() []byte {
	out := abi.Failure{Code: f.Code, Message: f.Message, Retry: f.Retry, AfterMS: milliseconds(f.After)}
	if f.Detail != nil {
		detail, err := encode(f.Detail)
		if err != nil {
			detail, _ = encode(map[string]string{"unreadable": err.Error()})
		}
		out.Detail = json.RawMessage(detail)
	}
	text, _ := encode(out) // strings, numbers and checked JSON: cannot fail
	return text
}

// milliseconds rounds up: a wait is never shorter than what was said.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

const mostFrames = 12

// panicked makes a failure of a panic, with the places in the author's code:
// more use to its reader than a trap. What the Go runtime throws by itself, such
// as running out of memory, does not come here and stays a trap.
func panicked(v any) *Failure {
	stack := panicStack()
	message := fmt.Sprintf("panic: %v", v)
	if len(stack) > 0 {
		message += " (at " + stack[0] + ")"
	}
	f := newFailure("panic", abi.Again, 0, errors.New(message))
	if err, ok := v.(error); ok {
		f.err = err
	}
	f.Detail = map[string]any{"stack": stack}
	return f
}

// panicStack lists the frames from where the panic began, without those of the
// Go runtime and below the step's function. It is called while panicking.
func panicStack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	var stack []string
	panicking := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicking, stack = true, nil
		case frame.Function == "github.com/pawl-dev/pawl/steps.run":
			return stack
		case strings.Contains(frame.Function, ".Handle[...]"):
			// The wrapper made by Handle, named after whoever it was inlined into.
		case panicking && !strings.HasPrefix(frame.Function, "runtime.") && len(stack) < mostFrames:
			file := frame.File[strings.LastIndexByte(frame.File, '/')+1:]
			stack = append(stack, fmt.Sprintf("%s %s:%d", frame.Function, file, frame.Line))
		}
		if !more {
			return stack
		}
	}
}
