package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host"
)

type refundRequest struct {
	Order  string `json:"order"`
	Amount int64  `json:"amount"`
}

type refundReceipt struct {
	ID string `json:"id"`
}

func jsonCall(body string) *host.Call {
	return &host.Call{Tool: "pay", Key: host.Key{1}, Type: "json", Body: []byte(body), Sent: func() {}}
}

// Seen red with a plain error and a panic taken for a rejection.
func TestOutcomeOfAFunction(t *testing.T) {
	t.Parallel()
	plain := errors.New("connection reset")
	for name, row := range map[string]struct {
		f    func() (refundReceipt, error)
		want host.Answer
	}{
		"success": {
			func() (refundReceipt, error) { return refundReceipt{"rf_1"}, nil },
			host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: host.Response{Type: "json", Body: []byte(`{"id":"rf_1"}`)}},
		},
		"a plain error is unknown": {
			func() (refundReceipt, error) { return refundReceipt{"rf_1"}, plain },
			host.Answer{Code: "error", Message: "connection reset"},
		},
		"a panic is unknown": {
			func() (refundReceipt, error) { panic("no such index") },
			host.Answer{Code: "panic", Message: "the tool panicked: no such index"},
		},
		"a panic with an error that knows is unknown": {
			func() (refundReceipt, error) { panic(host.Rejected(plain)) },
			host.Answer{Code: "panic", Message: "the tool panicked: connection reset"},
		},
		"rejected": {
			func() (refundReceipt, error) { return refundReceipt{}, host.Rejected(plain) },
			host.Answer{Outcome: host.OutcomeRejected, Settles: true, Code: "rejected", Message: "connection reset"},
		},
		"rejected within another error": {
			func() (refundReceipt, error) { return refundReceipt{}, fmt.Errorf("pay: %w", host.Rejected(plain)) },
			host.Answer{Outcome: host.OutcomeRejected, Settles: true, Code: "rejected", Message: "pay: connection reset"},
		},
		"not applied settles nothing": {
			func() (refundReceipt, error) { return refundReceipt{}, host.NotApplied(plain) },
			host.Answer{Outcome: host.OutcomeNotApplied, Code: "not_applied", Message: "connection reset"},
		},
		"the outer word counts": {
			func() (refundReceipt, error) { return refundReceipt{}, host.NotApplied(host.Rejected(plain)) },
			host.Answer{Outcome: host.OutcomeNotApplied, Code: "not_applied", Message: "connection reset"},
		},
		"nil wrapped is success": {
			func() (refundReceipt, error) { return refundReceipt{"rf_1"}, host.Rejected(nil) },
			host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: host.Response{Type: "json", Body: []byte(`{"id":"rf_1"}`)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := host.Func("pay", func(context.Context, *host.Call, refundRequest) (refundReceipt, error) { return row.f() }, nil)
			if diff := cmp.Diff(row.want, tool.Try(t.Context(), jsonCall(`{}`))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if err := host.Rejected(plain); !errors.Is(err, plain) {
		t.Error("the error is lost")
	}
}

func TestFunctionIsGivenItsRequest(t *testing.T) {
	t.Parallel()
	var told bool
	call := jsonCall(`{"order":"W1","amount":9007199254740993}`)
	call.Sent = func() { told = true }
	tool := host.Func("pay", func(_ context.Context, c *host.Call, req refundRequest) (string, error) {
		if !told {
			t.Error("the sending was not announced before it")
		}
		return fmt.Sprint(req.Order, req.Amount, c.Key == call.Key), nil
	}, nil)
	if got := string(tool.Try(t.Context(), call).Response.Body); got != `"W19007199254740993 true"` {
		t.Errorf("got %s", got)
	}
}

func TestRequestThatDoesNotFitIsInvalid(t *testing.T) {
	t.Parallel()
	reached := false
	tool := host.Func("pay", func(context.Context, *host.Call, refundRequest) (refundReceipt, error) {
		reached = true
		return refundReceipt{}, nil
	}, nil)
	for name, call := range map[string]*host.Call{
		"another type":     jsonCall(`{"amount":"much"}`),
		"not JSON":         jsonCall(`{`),
		"two values":       jsonCall(`{} {}`),
		"bytes for a JSON": {Tool: "pay", Type: "bytes", Body: []byte("{}"), Sent: func() { t.Error("sent") }},
	} {
		if err := tool.(host.Checker).Check(call); err == nil || !strings.Contains(err.Error(), "pay") {
			t.Errorf("%s: %v", name, err)
		}
		if a := tool.Try(t.Context(), call); a.Outcome != host.OutcomeRejected || a.Settles || reached {
			t.Errorf("%s: %+v, reached %v", name, a, reached)
		}
	}
	if err := tool.(host.Checker).Check(jsonCall(`{"amount":1}`)); err != nil {
		t.Error(err)
	}
}

func TestFunctionOverBytes(t *testing.T) {
	t.Parallel()
	tool := host.Func("shout", func(_ context.Context, _ *host.Call, req []byte) ([]byte, error) {
		return []byte(strings.ToUpper(string(req))), nil
	}, nil)
	call := &host.Call{Tool: "shout", Type: "bytes", Body: []byte("a{"), Sent: func() {}}
	if err := tool.(host.Checker).Check(call); err != nil {
		t.Fatal(err)
	}
	want := host.Response{Type: "bytes", Body: []byte("A{")}
	if diff := cmp.Diff(want, tool.Try(t.Context(), call).Response); diff != "" {
		t.Error(diff)
	}
}

func TestResponseThatCannotBeWrittenIsUnknown(t *testing.T) {
	t.Parallel()
	tool := host.Func("pay", func(context.Context, *host.Call, json.RawMessage) (func(), error) { return func() {}, nil }, nil)
	if a := tool.Try(t.Context(), jsonCall(`{}`)); a.Outcome != host.OutcomeUnknown || !strings.Contains(a.Message, "succeeded") {
		t.Errorf("%+v", a)
	}
}

func TestFunctionThatCanBeAsked(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		res   any
		found bool
		err   error
		want  host.Verdict
	}{
		"found":                      {refundReceipt{"rf_1"}, true, nil, host.Verdict{Kind: host.Found, Response: host.Response{Type: "json", Body: []byte(`{"id":"rf_1"}`)}, Units: map[string]int64{"cent": 5}}},
		"absent":                     {nil, false, nil, host.Verdict{Kind: host.Absent}},
		"an error is no answer":      {refundReceipt{"rf_1"}, true, errors.New("down"), host.Verdict{Code: "error", Message: "down"}},
		"no response is still found": {nil, true, nil, host.Verdict{Kind: host.Found, Response: host.Response{Type: "json", Body: []byte(`null`)}, Units: map[string]int64{"cent": 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := host.Func("pay", func(context.Context, *host.Call, refundRequest) (refundReceipt, error) { return refundReceipt{}, nil }, &host.FuncOptions{
				Contract: host.Contract{Effect: host.Verify, Units: []string{"cent"}},
				Verify:   func(context.Context, *host.Call) (any, bool, error) { return row.res, row.found, row.err },
				Units:    func(any) map[string]int64 { return map[string]int64{"cent": 5} },
			})
			if _, err := host.NewRegistry(tool); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, tool.(host.Verifier).Verify(t.Context(), jsonCall(`{}`))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestContractOfAFunction(t *testing.T) {
	t.Parallel()
	f := func(context.Context, *host.Call, refundRequest) (refundReceipt, error) { return refundReceipt{}, nil }
	tool := host.Func("pay", f, nil)
	if c := tool.Contract(); c.Kind != "go" || c.Effect != host.Once || c.Verifies || c.Timeout == 0 {
		t.Errorf("%+v", c)
	}
	if _, ok := tool.(host.Verifier); ok {
		t.Error("a function without Verify can be asked")
	}
	if _, err := host.NewRegistry(tool); err != nil {
		t.Error(err)
	}
	lies := host.Func("pay", f, &host.FuncOptions{Contract: host.Contract{Effect: host.Verify, Verifies: true}})
	if _, err := host.NewRegistry(lies); err == nil {
		t.Error("a function that says it can be asked, and cannot, was taken")
	}
}

// The whole way: an unknown of class once goes to a person, a read that fails
// plainly is an answer that did not come.
func TestPlainErrorByClass(t *testing.T) {
	t.Parallel()
	for class, want := range map[host.Class]string{
		host.Once: "undecided",
		host.Read: "not_applied, status 4",
	} {
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tool := host.Func("pay", func(context.Context, *host.Call, refundRequest) (refundReceipt, error) {
					return refundReceipt{}, errors.New("connection reset")
				}, &host.FuncOptions{Contract: host.Contract{Effect: class}})
				ledger := &fakeLedger{diary: &diary{start: time.Now()}}
				if got := result(host.Do(t.Context(), tool, ledger, jsonCall(`{}`), host.Past{})); got != want {
					t.Errorf("came to %q, want %q", got, want)
				}
			})
		})
	}
}

func TestFunctionWithoutAnAnswerInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tool := host.Func("look", func(ctx context.Context, _ *host.Call, _ refundRequest) (refundReceipt, error) {
			<-ctx.Done()
			return refundReceipt{}, ctx.Err()
		}, &host.FuncOptions{Contract: host.Contract{Effect: host.Read, Timeout: time.Second}})
		ledger := &fakeLedger{diary: &diary{start: time.Now()}}
		r, err := host.Do(t.Context(), tool, ledger, jsonCall(`{}`), host.Past{})
		if got := result(r, err); got != "not_applied, status 7" || r.Code != "no_answer" {
			t.Errorf("came to %q, %+v", got, r)
		}
	})
}
