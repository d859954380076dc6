package runtime_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Whoever stops waiting does not stop the run.
//
// Seen red with a wait that passes its context over, and with one that takes
// the engine along.
func TestEndOfAWaitIsNotTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	var slow counter
	release := make(chan struct{})
	b := setup(t, slow.tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		<-release
		return "done", nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := pawl.Start(ctx, w, "r1", raw(`{"one":[{"call":"keyed"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	tired := errors.New("tired of waiting")
	cancel(tired)
	if _, err := r.Wait(ctx, time.Hour); !errors.Is(err, tired) {
		t.Errorf("Wait: %v", err)
	}
	if _, err := pawl.Await[any](ctx, r); !errors.Is(err, tired) {
		t.Errorf("Await: %v", err)
	}
	if c := b.document("r1"); c.State != pawl.StateRunning || len(c.Actions) != 0 || len(c.Reasons) != 0 {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
	close(release)
	if out, err := pawl.Await[[]string](t.Context(), r); err != nil || len(out) != 1 || slow.sent.Load() != 1 {
		t.Errorf("%v, %v, sent %d times", out, err, slow.sent.Load())
	}
}

// Wait returns when the run rests, or waits longer than asked for; Await waits
// as long as the run may go on by itself, and says why it did not complete.
//
// Seen red with every timer, and with no timer, waited for, and with a run
// taken for completed that is not.
func TestWaitAndAwaitOfARunThatWaits(t *testing.T) {
	t.Parallel()
	var once counter
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}),
		once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, errors.New("lost") }))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"once\"]\nretry = { attempts = 2, backoff = \"700ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"flaky"}]}`)
	c := b.wait(r, 0)
	checkDocument(t, c)
	if c.State != pawl.StateWaiting || c.Reasons[0].At == nil {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
	if out, err := pawl.Await[[]string](t.Context(), r); err != nil || out[0] != "up" {
		t.Errorf("%v, %v", out, err)
	}
	for id, row := range map[string]struct {
		input string
		want  error
	}{
		"parked": {`{"one":[{"call":"once"}]}`, pawl.ErrNeedsDecision},
		"failed": {`{"one":[{"fail":"wrong"}]}`, pawl.ErrFailed},
	} {
		_, err := pawl.Await[any](t.Context(), b.start(w, id, row.input))
		var at *pawl.StepError
		if !errors.Is(err, row.want) || !errors.As(err, &at) || at.Step != "one" || at.Attempt != 1 {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := pawl.Await[map[string]int](t.Context(), r); err == nil {
		t.Error("an output of another type")
	}
}

// A run whose store broke says so to whoever waits, and is shown as it stands
// durably.
//
// Seen red with the reason not kept.
func TestWaitSaysWhyTheRunWasGivenUp(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	b.crashAt(at(pawl.BeforeIntent))
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	c, err := r.Wait(t.Context(), 0)
	if err == nil || c == nil || c.State != pawl.StateInterrupted || keyed.sent.Load() != 0 {
		t.Errorf("%v, %+v, sent %d times", err, c, keyed.sent.Load())
	}
	b.crashAt(nil)
	b.reopen()
	completed(t, b.rest(b.find("r1")))
}
