package steps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

func init() {
	steps.Handle("every_status", func(s *steps.Step, in json.RawMessage) (any, error) {
		_, err := rawTool.Call(s, in, steps.SeeUnknown())
		return nil, fmt.Errorf("asking: %w", err)
	})
	steps.Handle("recovers", func(s *steps.Step, in json.RawMessage) (out string, err error) {
		defer func() {
			if recover() != nil {
				out = "all is well"
			}
		}()
		_, err = rawTool.Call(s, in)
		return "", err
	})
}

func TestEveryStatusHasItsError(t *testing.T) {
	t.Parallel()
	all := []error{
		steps.ErrDenied, steps.ErrInvalid, steps.ErrRejected, steps.ErrNotApplied,
		steps.ErrBudget, steps.ErrCancelled, steps.ErrDeadline, steps.ErrUnknown,
	}
	tests := []struct {
		status    abi.Status
		is        error
		retryable bool
		code      string // of the step's failure when the receiver gave "http_499"
		bare      string // and when it gave none
	}{
		{abi.Denied, steps.ErrDenied, false, "http_499", "call_denied"},
		{abi.Invalid, steps.ErrInvalid, false, "http_499", "call_invalid"},
		{abi.Rejected, steps.ErrRejected, false, "http_499", "call_rejected"},
		{abi.NotApplied, steps.ErrNotApplied, true, "http_499", "call_not_applied"},
		{abi.Budget, steps.ErrBudget, false, "http_499", "call_budget"},
		{abi.Cancelled, steps.ErrCancelled, false, "http_499", "call_cancelled"},
		{abi.Deadline, steps.ErrDeadline, true, "call_deadline", "call_deadline"},
		{abi.Unknown, steps.ErrUnknown, false, "http_499", "call_unknown"},
	}
	for i, tt := range tests {
		t.Run(tt.is.Error(), func(t *testing.T) {
			t.Parallel()
			for _, bare := range []bool{false, true} {
				answer := &steps.CallError{Status: tt.status, Code: "http_499", Message: "because", After: time.Second, Response: steps.Response{Status: 499, JSON: true, Body: []byte(`{"why":1}`)}}
				code := tt.code
				if bare {
					answer, code = &steps.CallError{Status: tt.status}, tt.bare
				}
				_, err := steps.Test("every_status", 1, steps.Tools{"test.raw": func(json.RawMessage) (any, error) { return nil, answer }})
				for j, sentinel := range all {
					if errors.Is(err, sentinel) != (i == j) {
						t.Errorf("errors.Is(%v, %v) = %v", err, sentinel, i != j)
					}
				}
				var call *steps.CallError
				if !errors.As(err, &call) || call.Tool != "test.raw" || call.Retryable != tt.retryable ||
					call.After != answer.After || !cmp.Equal(call.Response, answer.Response, cmpopts.EquateEmpty()) {
					t.Errorf("call error %+v", call)
				}
				var f *steps.Failure
				if !errors.As(err, &f) || f.Retry != abi.Again || f.Code != code || f.After != answer.After {
					t.Errorf("failure %+v, want again with code %s", f, code)
				}
				if !bare && f.Message != "asking: test.raw: because" {
					t.Errorf("message %q", f.Message)
				}
			}
		})
	}
}

func TestAStatusOfALaterABIIsStillAnError(t *testing.T) {
	t.Parallel()
	_, err := steps.Test("raw", 1, steps.Tools{"test.raw": func(json.RawMessage) (any, error) {
		return nil, &steps.CallError{Status: 77}
	}})
	if err == nil || !strings.Contains(err.Error(), "call_status_77: test.raw: status_77") {
		t.Errorf("got %v", err)
	}
}

// Seen red with the unknown outcome handed to the step.
func TestUnknownIsNotToldUnlessAskedFor(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection broke")
	tools := steps.Tools{"test.raw": func(json.RawMessage) (any, error) { return nil, broken }}

	out, err := steps.Test("raw", 1, tools)
	var f *steps.Failure
	if out != nil || !errors.Is(err, broken) || errors.As(err, &f) {
		t.Errorf("got %s, %v; want the fake's error and no failure of the step", out, err)
	}
	out, err = steps.Test("raw_opted_in", 1, tools)
	if err != nil || string(out) != `"seen as unknown"` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestAStepThatRecoversCannotHideAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection broke")
	out, err := steps.Test("recovers", 1, steps.Tools{"test.raw": func(json.RawMessage) (any, error) { return nil, broken }})
	if out != nil || !errors.Is(err, broken) {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestDescriptionIsSorted(t *testing.T) {
	t.Parallel()
	d := steps.Describe()
	if d.ABI != abi.Version || d.SDK != "go/0.1" {
		t.Errorf("description %+v", d)
	}
	for i := 1; i < len(d.Steps); i++ {
		if d.Steps[i-1].Name >= d.Steps[i].Name {
			t.Errorf("%s before %s", d.Steps[i-1].Name, d.Steps[i].Name)
		}
	}
	for i := 1; i < len(d.Tools); i++ {
		if d.Tools[i-1].Name >= d.Tools[i].Name {
			t.Errorf("%s before %s", d.Tools[i-1].Name, d.Tools[i].Name)
		}
	}
	if len(d.Steps) == 0 || len(d.Tools) == 0 {
		t.Error("steps or tools are missing")
	}
}
