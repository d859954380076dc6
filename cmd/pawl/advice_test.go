package main

import (
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Whoever looks at a run that does not move by itself and that no command moves
// is told what can be done. Seen red with an advice left out.
func TestEveryRunThatStandsHasAdvice(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		state pawl.RunState
		codes []string
	}{
		"failed":       {pawl.StateFailed, []string{"wrong_status"}},
		"incompatible": {pawl.StateIncompatible, []string{"incompatible"}},
		"held":         {pawl.StateHeld, []string{"held"}},
		"a person":     {pawl.StateNeedsDecision, []string{"unknown", "orphan", "diverged", "quarantined", "budget", "deadline", "one of a later version"}},
	} {
		for _, code := range row.codes {
			c := &pawl.Checkpoint{State: row.state, Reasons: []pawl.Reason{{Code: code}}}
			if advise(c, "pawl resume r") == "" {
				t.Errorf("%s (%s): no advice", name, code)
			}
			c.Actions = []pawl.Action{{Action: "resume"}}
			if text := advise(c, "pawl resume r"); text != "" {
				t.Errorf("%s (%s): %q beside an action", name, code, text)
			}
		}
	}
	c := &pawl.Checkpoint{State: pawl.StateNeedsDecision, Reasons: []pawl.Reason{{Code: "diverged"}}}
	if got, want := advise(c, "pawl resume r"), "pawl resume r --upgrade moves it to the folder's code, if that does again what is recorded"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
