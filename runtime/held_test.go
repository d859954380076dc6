package runtime_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A held store opens for looking: it starts, resumes, deploys and recovers
// nothing, says why, and nothing is written into it. Runs that have ended are
// shown as ever.
//
// Seen red with an engine that does not ask the store, and with a state that
// hides that the store is held.
func TestHeldStore(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.rest(b.start(w, "ended", `{"one":[]}`))
	store := b.faults(func(f *faulty) { f.held = "this directory is a copy" })
	before := keysOf(t, store)
	if w, err = b.engine.Workflow("test"); err != nil {
		t.Fatal(err)
	}
	_, startErr := pawl.Start(t.Context(), w, "other", raw(`{"one":[]}`), nil)
	_, deployErr := b.engine.Deploy(t.Context(), folder(t, "title = \"other\"", ""))
	for what, err := range map[string]error{
		"start": startErr, "resume": b.find("r1").Resume(), "deploy": deployErr,
		"upgrade": b.find("r1").Upgrade(t.Context(), w),
	} {
		var held *pawl.HeldError
		if !errors.Is(err, pawl.ErrHeld) || !errors.As(err, &held) || held.Reason != store.held {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := b.document("r1")
	if c.State != pawl.StateHeld || len(c.Reasons) != 1 || c.Reasons[0].Sentence != store.held || len(c.Actions) != 0 {
		t.Errorf("state %s, %+v, %+v", c.State, c.Reasons, c.Actions)
	}
	if c := b.document("ended"); c.State != pawl.StateCompleted {
		t.Errorf("the ended run: state %s", c.State)
	}
	runs := 0
	for _, r := range all(t, b.engine, pawl.Query{}) {
		if runs++; r.Unreadable != "" {
			t.Error(r.Unreadable)
		}
	}
	if err := agree(b.engine); err != nil {
		t.Error(err)
	}
	h := b.engine.Health()
	if runs != 2 || h.Store.Condition != kv.Held || h.Open != 1 || h.Recovery == nil || h.Recovery.Held != 1 || h.Recovery.Open != 1 {
		t.Errorf("%d runs, %+v, %+v", runs, h, h.Recovery)
	}
	if err := b.engine.Close(); err != nil {
		t.Error(err)
	}
	if after := keysOf(t, store); !maps.Equal(before, after) {
		t.Errorf("%d keys, were %d", len(after), len(before))
	}
	if flaky.sent.Load() != 1 {
		t.Errorf("sent %d times", flaky.sent.Load())
	}
}
