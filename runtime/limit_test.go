package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A guest that computes for ever ends when the run's time is over, and the run
// waits for a person.
//
// Seen red with a context that knows no limit.
func TestTimeOfARunStopsAGuest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, head, code string }{
		{"deadline", "deadline = \"300ms\"", "deadline"},
		{"active time", "[budget]\nactive_time = \"300ms\"", "budget"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			w := b.deploy(folder(t, row.head, ""))
			r := b.start(w, "r1", `{"one":[{"loop":true}]}`)
			c := b.rest(r)
			if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != row.code {
				t.Fatalf("state %s: %+v", c.State, c.Reasons)
			}
			if err := r.Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
				t.Errorf("resume: %v", err)
			}
		})
	}
}

func TestInputThatNoStepCanTakeIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", ""))
	big := json.RawMessage(`{"one":[],"x":"` + strings.Repeat("x", 9<<20) + `"}`)
	if _, err := pawl.Start(t.Context(), w, "r1", big, nil); !errors.Is(err, pawl.ErrInvalidInput) {
		t.Errorf("start: %v", err)
	}
	if _, err := b.engine.Find("r1"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}

// The effect happened; that its response is too large for a step does not make
// it happen again, and does not end the run.
func TestResponseThatNoStepCanTakeIsLeftOut(t *testing.T) {
	long(t)
	t.Parallel()
	var once counter
	b := setup(t, once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return strings.Repeat("x", 9<<20), nil }))
	w := b.deploy(folder(t, "", `tools = ["once"]`))
	c := b.rest(b.start(w, "r1", `{"one":[{"call":"once"}]}`))
	if c.State != pawl.StateCompleted || once.sent.Load() != 1 || c.Step("one").Calls[0].Outcome != "applied" {
		t.Errorf("state %s: %+v, sent %d times", c.State, c.Reasons, once.sent.Load())
	}
}

func TestDeployRefusesWhatCouldNeverRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, row := range []struct{ name, step, want string }{
		{"less memory than the module starts with", `limits = { memory = "64KiB" }`, "limits.memory is 64 KiB"},
		{"a step that the module does not have", "[[step]]\nname = \"five\"\nmodule = \"script.wasm\"", `step "five" is not in module script.wasm`},
	} {
		_, err := b.engine.Deploy(t.Context(), folder(t, "", row.step))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	if _, err := b.engine.Workflow("test"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("something was stored: %v", err)
	}
}

// strict panics over every request.
type strict struct{}

func (strict) UnmarshalJSON([]byte) error { panic("no") }

func TestToolThatPanicsOverARequestRefusesIt(t *testing.T) {
	t.Parallel()
	b := setup(t, host.Func("keyed", func(context.Context, *host.Call, strict) (int, error) { return 0, nil },
		&host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	c := b.rest(b.start(w, "r1", `{"one":[{"call":"keyed","ignore":true}]}`))
	if c.State != pawl.StateCompleted || c.Step("one").Calls[0].Status != "invalid" {
		t.Errorf("state %s: %+v", c.State, c.Step("one").Calls)
	}
}

// loud refuses every request at length.
type loud struct{}

func (loud) UnmarshalJSON([]byte) error { return errors.New(strings.Repeat("n", 2<<20)) }

func TestTextOfARefusalIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, host.Func("keyed", func(context.Context, *host.Call, loud) (int, error) { return 0, nil },
		&host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	c := b.rest(b.start(w, "r1", `{"one":[{"call":"keyed","ignore":true}]}`))
	if c.State != pawl.StateCompleted {
		t.Fatalf("state %s, %d reasons", c.State, len(c.Reasons))
	}
	if n := len(c.Step("one").Calls[0].Message); n == 0 || n > 4<<10 {
		t.Errorf("a message of %d bytes", n)
	}
}

// Whatever is cut off by a stop in good order is neither charged nor burnt.
//
// Seen red with charges that wait under the context that the stop ends.
func TestManyStopsInGoodOrderCostNothing(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil), quickTool("asked", host.Verify, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed", "asked"]`, `tools = ["keyed"]`))
	const runs, rounds = 6, 12
	input := `{"one":[{"call":"keyed"},{"call":"asked"},{"call":"keyed"}],"two":[{"call":"keyed"}]}`
	for i := range runs {
		b.start(w, "r"+string(rune('a'+i)), input)
	}
	for i := range rounds {
		time.Sleep(time.Duration(i) * 3 * time.Millisecond) // another moment each time; any will do
		b.reopen()
	}
	for i := range runs {
		c := b.rest(b.find("r" + string(rune('a'+i))))
		if c.State != pawl.StateCompleted || c.Budgets.Recoveries.Used != 0 || c.Budgets.Attempts.Used != 2 {
			t.Errorf("state %s, %+v, reasons %+v", c.State, c.Budgets, c.Reasons)
		}
	}
	if n := keyed.distinctKeys(); n != 3*runs {
		t.Errorf("%d keys", n)
	}
}

// A call of the class once that was recorded and, because the engine closed,
// not sent is sent when the run goes on: no person is asked, no attempt burnt.
func TestCallThatAStopKeptFromBeingSentIsMadeAgain(t *testing.T) {
	t.Parallel()
	var once counter
	recorded, closing := make(chan struct{}), make(chan struct{})
	var stopped atomic.Bool
	b := setup(t, once.tool("once", host.Contract{}, nil))
	b.opts.Observer = func(e pawl.Event) {
		if e.Kind == pawl.IntentDurable && stopped.CompareAndSwap(false, true) {
			close(recorded)
			<-closing
		}
	}
	b.reopen()
	w := b.deploy(folder(t, "", `tools = ["once"]`))
	b.start(w, "r1", `{"one":[{"call":"once"}]}`)
	<-recorded
	time.AfterFunc(100*time.Millisecond, func() { close(closing) })
	b.reopen()
	c := b.rest(b.find("r1"))
	if c.State != pawl.StateCompleted || once.sent.Load() != 1 || c.Step("one").Attempts != 1 || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("state %s: %+v, sent %d times, %+v", c.State, c.Reasons, once.sent.Load(), c.Budgets)
	}
}

func TestSecondCloseWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	var once counter
	arrived, release := make(chan struct{}), make(chan struct{})
	b := setup(t, once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) {
		close(arrived)
		<-release
		return nil, nil
	}))
	w := b.deploy(folder(t, "", `tools = ["once"]`))
	b.start(w, "r1", `{"one":[{"call":"once"}]}`)
	<-arrived
	first := make(chan struct{})
	go func() {
		_ = b.engine.Close()
		close(first)
	}()
	for !errors.Is(b.find("r1").Resume(), pawl.ErrClosed) {
	}
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	b.reopen() // closes the engine a second time
	select {
	case <-first:
	default:
		t.Error("the second Close did not wait")
	}
	if c := b.rest(b.find("r1")); c.State != pawl.StateCompleted || once.sent.Load() != 1 {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
}
