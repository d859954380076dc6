package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A module that kills its process at one place every time is entered once and
// then as often as the run has recoveries; after that the run waits for a
// person, and no engine enters it.
//
// Seen red with a charge that is not waited for (it dies with the process,
// every time), without a limit, and with every re-entry free.
func TestRunThatKillsItsProcessIsQuarantined(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "[budget]\nrecoveries = 2", `tools = ["keyed"]`))
	entered := 0
	b.crashAt(func(e pawl.Event) bool {
		if e.Kind == pawl.Begun {
			entered++
		}
		return e.Kind == pawl.Begun
	})
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.crashed(b.start(w, "r1", `{"one":[{"call":"keyed"}]}`))
	for range 2 {
		b.reopen()
		b.crashed(b.find("r1"))
	}
	b.reopen()
	b.rest(b.find("r1"))
	c := b.document("r1")
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "quarantined" || c.Budgets.Recoveries.Used != 2 {
		t.Errorf("state %s: %+v, %+v", c.State, c.Reasons, c.Budgets.Recoveries)
	}
	if entered != 3 || keyed.sent.Load() != 0 {
		t.Errorf("entered %d times, sent %d times", entered, keyed.sent.Load())
	}
	if err := b.find("r1").Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
		t.Errorf("resume: %v", err)
	}
}

// The same with real processes and signals, and with a good run beside it.
//
// Seen red without a limit.
func TestProcessKilledOnEntryEveryTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("[budget]\nrecoveries = 1", "")
	onEntry := func(k *task) { k.Hold = pawl.Begun }
	p := w.start(`{"one":[]}`, onEntry)
	p.reached()
	p.kill()
	p = w.op("recover", onEntry)
	p.reached()
	p.kill()
	out := w.op("recover", onEntry).end() // hangs if it is entered
	if c := out.After; out.Error != "" || c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "quarantined" {
		t.Errorf("%s, state %s: %+v", out.Error, c.State, c.Reasons)
	}
	other := w.start(`{"one":[]}`, func(k *task) { k.ID = "r2" }).end()
	completed(t, other.After)
}

// An attempt that kills the process is charged all the same.
//
// Seen red with a charge of the next attempt that is not waited for.
func TestAttemptThatKillsItsProcessIsCharged(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	b.opts.NoRecovery = true
	b.crashAt(at(pawl.Begun))
	b.reopen()
	r := b.find("r1")
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	b.crashed(r)
	b.crashAt(nil)
	b.reopen()
	if c := b.document("r1"); c.State != pawl.StateInterrupted || c.Step("one").Attempts != 2 || c.Budgets.Attempts.Used != 2 {
		t.Errorf("state %s, %d attempts", c.State, c.Budgets.Attempts.Used)
	}
	if c := b.resume("r1"); c.State != pawl.StateCompleted || c.Budgets.Attempts.Used != 2 || c.Budgets.Recoveries.Used != 1 {
		t.Errorf("state %s, %+v", c.State, c.Budgets)
	}
}

// A stop in good order is free once: the entry after it is marked, so that a
// module that kills the process after every stop is not free for ever.
//
// Seen red with a free re-entry that keeps the mark, and with one that is not
// recorded.
func TestCrashAfterAFreeReentryIsCharged(t *testing.T) {
	t.Parallel()
	var once counter
	b := setup(t, once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, errors.New("lost") }))
	w := b.deploy(folder(t, "", `tools = ["once"]`))
	b.rest(b.start(w, "r1", `{"one":[{"call":"once"}]}`)) // parked: in good order
	b.opts.NoRecovery = true
	b.crashAt(at(pawl.Begun))
	b.reopen()
	r := b.find("r1")
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	b.crashed(r)
	b.crashAt(nil)
	b.reopen()
	if c := b.document("r1"); c.State != pawl.StateInterrupted || c.Reasons[0].Code != "crashed" || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("after the crash: state %s, %+v, %+v", c.State, c.Reasons, c.Budgets.Recoveries)
	}
	if c := b.resume("r1"); c.State != pawl.StateNeedsDecision || c.Budgets.Recoveries.Used != 1 || once.sent.Load() != 1 {
		t.Errorf("state %s, %+v, sent %d times", c.State, c.Budgets.Recoveries, once.sent.Load())
	}
}

// With recovery at open a killed run goes on by itself, without it the run is
// shown as interrupted and nothing is executed; a start of the same run goes
// on with it.
//
// Seen red with the option passed over, with an engine that never recovers,
// and with a start that leaves the run as it is.
func TestRecoveryAtOpenIsOnOrOff(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		off  bool
		goOn func(b *bundle) *pawl.Checkpoint
	}{
		{"on", false, func(b *bundle) *pawl.Checkpoint { return b.rest(b.find("r1")) }},
		{"off, then started again", true, func(b *bundle) *pawl.Checkpoint {
			w, err := b.engine.Workflow("test")
			if err != nil {
				b.t.Fatal(err)
			}
			return b.rest(b.start(w, "r1", twoCalls))
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			keyed, _, tools := keyedAndRead()
			b := setup(t, tools...)
			w := b.deploy(folder(t, "", `tools = ["keyed"]`, `tools = ["keyed"]`))
			second := func(e pawl.Event) bool { return e.Kind == pawl.Sent && e.Step == "two" }
			b.crashAt(second)
			b.reopen()
			w, err := b.engine.Workflow(w.Name())
			if err != nil {
				t.Fatal(err)
			}
			b.crashed(b.start(w, "r1", twoCalls))
			b.crashAt(nil)
			b.opts.NoRecovery = row.off
			entered := make(chan pawl.Event, 9)
			b.opts.Observer = func(e pawl.Event) {
				if e.Kind == pawl.Begun {
					entered <- e
				}
			}
			b.reopen()
			if row.off {
				if c := b.document("r1"); c.State != pawl.StateInterrupted || c.Reasons[0].Code != "crashed" || len(entered) != 0 {
					t.Errorf("state %s: %+v, entered %d times", c.State, c.Reasons, len(entered))
				}
				if _, err := pawl.Await[any](t.Context(), b.find("r1")); !errors.Is(err, pawl.ErrInterrupted) {
					t.Errorf("Await: %v", err)
				}
			}
			c := row.goOn(b)
			if c.State != pawl.StateCompleted || keyed.sent.Load() != 3 || keyed.distinctKeys() != 2 {
				t.Errorf("state %s: %+v, sent %d times with %d keys", c.State, c.Reasons, keyed.sent.Load(), keyed.distinctKeys())
			}
			if e := <-entered; e.Step != "two" || len(entered) != 0 || c.Budgets.Recoveries.Used != 1 {
				t.Errorf("entered first at %s and %d times more, %+v", e.Step, len(entered), c.Budgets.Recoveries)
			}
		})
	}
}

const twoCalls = `{"one":[{"call":"keyed"}],"two":[{"call":"keyed"}]}`

// A completed step never runs again: a crash behind its durable end enters the
// next step alone.
//
// Seen red with a completed run that is entered again.
func TestCompletedStepNeverRunsAgain(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`, `tools = ["keyed"]`, ""))
	b.crashAt(func(e pawl.Event) bool { return e.Step == "two" && e.Kind == pawl.Answered })
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.crashed(b.start(w, "r1", `{"one":[{"call":"keyed"}],"two":[{"call":"keyed"}],"three":[]}`))
	b.crashAt(nil)
	var entered []string
	b.opts.Observer = func(e pawl.Event) {
		if e.Kind == pawl.Begun {
			entered = append(entered, e.Step)
		}
	}
	b.reopen()
	c := b.rest(b.find("r1"))
	if c.State != pawl.StateCompleted || len(entered) != 2 || entered[0] != "two" {
		t.Errorf("state %s: entered %q", c.State, entered)
	}
	if keyed.distinctKeys() != 2 || keyed.sent.Load() != 3 {
		t.Errorf("sent %d times with %d keys", keyed.sent.Load(), keyed.distinctKeys())
	}
	seq := c.Seq
	if c := b.resume("r1"); c.Seq != seq || len(entered) != 2 {
		t.Errorf("a resume of the completed run: seq %d, was %d, entered %q", c.Seq, seq, entered)
	}
}

// A run that waits for a person, or for a timer, is not touched at open.
//
// Seen red with parked runs entered, and with timers passed over.
func TestRunThatWaitsIsNotTouchedAtOpen(t *testing.T) {
	t.Parallel()
	var flaky counter
	var asked atomic.Int64
	lost := func(context.Context, *host.Call, any) (any, error) { return nil, errors.New("lost") }
	silent := func(context.Context, *host.Call) (any, bool, error) {
		asked.Add(1)
		return nil, false, errors.New("nobody answers")
	}
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}), host.Func("asked", lost, &host.FuncOptions{
		Contract: host.Contract{Effect: host.Verify, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
		Verify:   silent,
	}))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"asked\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"1h\" }"))
	parked := b.rest(b.start(w, "parked", `{"one":[{"call":"asked"}]}`))
	timer := b.wait(b.start(w, "timer", `{"one":[{"call":"flaky"}]}`), time.Minute)
	if parked.State != pawl.StateNeedsDecision || timer.State != pawl.StateWaiting {
		t.Fatalf("states %s and %s", parked.State, timer.State)
	}
	before := asked.Load()
	b.reopen()
	for _, was := range []*pawl.Checkpoint{parked, timer} {
		if c := b.wait(b.find(was.ExternalID), time.Minute); c.Seq != was.Seq || c.State != was.State {
			t.Errorf("%s: seq %d and %s, was %d and %s", was.ExternalID, c.Seq, c.State, was.Seq, was.State)
		}
	}
	if asked.Load() != before || flaky.sent.Load() != 1 {
		t.Errorf("asked %d times more, sent %d times", asked.Load()-before, flaky.sent.Load())
	}
	// A person does not wait for the timer.
	if c := b.resume("timer"); c.State != pawl.StateCompleted || c.Budgets.Attempts.Used != 2 {
		t.Errorf("state %s, %+v", c.State, c.Budgets)
	}
}
