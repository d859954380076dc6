package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A closed engine takes nothing on, closes as often as told, and does not wait
// for timers.
//
// Seen red with starts and with resumes let through, and with timers left
// running.
func TestClosedEngine(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	r := waiting(t, b)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pawl.Start(t.Context(), w, "r2", raw(`{"one":[]}`), nil); !errors.Is(err, pawl.ErrClosed) {
		t.Errorf("start: %v", err)
	}
	if err := r.Resume(); !errors.Is(err, pawl.ErrClosed) {
		t.Errorf("resume: %v", err)
	}
	if c, err := r.Wait(t.Context(), 2*time.Hour); err != nil || c.State != pawl.StateWaiting {
		t.Errorf("%+v, %v", c, err)
	}
	b.reopen()
	if _, err := b.engine.Find("r2"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("a start of a closed engine left something: %v", err)
	}
}

// A tool in flight is not told to end before the grace is over, and is told
// then. (That it keeps its own time limit is tested with the shield.)
//
// Seen red with tools that are told at once, and with a grace that never ends.
func TestGraceOfTools(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		grace   time.Duration
		release bool
		outcome string
	}{
		{"the tool ends within the grace", time.Hour, true, "applied"},
		{"the grace ends", time.Millisecond, false, "unknown"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			arrived, release := make(chan struct{}), make(chan struct{})
			tool := host.Func("once", func(ctx context.Context, _ *host.Call, _ any) (string, error) {
				close(arrived)
				select {
				case <-release:
					return "done", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}, &host.FuncOptions{Contract: host.Contract{Timeout: time.Hour}})
			b := setup(t, tool)
			b.opts.Grace = row.grace
			b.reopen()
			b.start(b.deploy(folder(t, "", `tools = ["once"]`)), "r1", `{"one":[{"call":"once"}]}`)
			<-arrived
			if row.release {
				time.AfterFunc(50*time.Millisecond, func() { close(release) })
			}
			b.close()
			b.opts.NoRecovery = true
			b.open()
			if c := b.document("r1"); c.Step("one").Calls[0].Outcome != row.outcome {
				t.Errorf("state %s: %+v", c.State, c.Step("one").Calls)
			}
		})
	}
}

// A run that never got a slot before the engine closed is left as it was: its
// recovery is not charged, and it is not marked as left in good order.
//
// Seen red with a mark for it.
func TestRunThatWaitsForASlotIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	var slow counter
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	b := setup(t, slow.tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		arrived <- struct{}{}
		<-release
		return "done", nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	const input = `{"one":[{"call":"keyed"}]}`
	b.forger(w).begin(1, "waits", input, nil, nil) // as a crash leaves it
	b.opts.Workers, b.opts.NoRecovery = 1, true
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.start(w, "works", input)
	<-arrived
	if err := b.find("waits").Resume(); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { close(release) })
	b.reopen()
	if c := b.document("waits"); c.Seq != 1 || c.Reasons[0].Code != "crashed" || c.Budgets.Recoveries.Used != 0 || len(arrived) != 0 {
		t.Errorf("seq %d, %+v, %+v", c.Seq, c.Reasons, c.Budgets.Recoveries)
	}
	if c := b.document("works"); c.Reasons[0].Code != "stopped" {
		t.Errorf("%+v", c.Reasons)
	}
}
