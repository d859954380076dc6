package web_test

import (
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The fixture makes what it says: every state that a person may meet.
func TestFixtureHasEveryState(t *testing.T) {
	t.Parallel()
	f := setup(t, func(o *pawl.Options) { o.NoRecovery = true })
	for _, state := range []pawl.RunState{
		pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting, pawl.StateRunning,
	} {
		c, err := f.inState(state).Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		if c.State != state {
			t.Errorf("%s: %s %+v %+v", state, c.State, c.Reasons, c.LastError)
		}
	}
	if c, err := f.orphaned("orphan", "W77").Checkpoint(); err != nil || c.Reasons[0].Code != "orphan" {
		t.Errorf("%+v, %v", c, err)
	}
	f.reopen(func(tool string, c *host.Contract) {
		if tool == "mail.send" {
			c.Effect = host.Keyed
		}
	})
	for id, state := range map[string]pawl.RunState{"waiting": pawl.StateIncompatible, "running": pawl.StateIncompatible} {
		r, err := f.engine.Find(id)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := r.Checkpoint(); err != nil || c.State != state {
			t.Errorf("%s: %+v, %v", id, c, err)
		}
	}
	f.reopen(nil)
	r, err := f.engine.Find("running")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Checkpoint(); err != nil || c.State != pawl.StateInterrupted {
		t.Errorf("%+v, %v", c, err)
	}
}
