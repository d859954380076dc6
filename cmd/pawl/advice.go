package main

import (
	"strings"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// advice says what a person can do about a run that has no actions, by its state
// and, where that decides, the code of its reason. It is the one place for that;
// the reasons' own sentences come with the document.
var advice = map[pawl.RunState]map[string]string{
	pawl.StateFailed: {
		"": "COMMAND --upgrade moves it to the folder's code once that is mended; or start a new run with another --id",
	},
	pawl.StateIncompatible: {
		"": "put back what it was begun with, or start a new run with another --id",
	},
	pawl.StateHeld: {
		"": "go on with the data directory that this one was copied from; here runs can be looked at",
	},
	pawl.StateNeedsDecision: {
		"":            "no command can decide this yet; the run is safe, and waits",
		"orphan":      "an effect of an earlier attempt stands that the last one did not make; no command can decide yet what becomes of it",
		"unknown":     "find out from the receiver what happened; no command can tell the run yet, which is safe, and waits",
		"diverged":    "COMMAND --upgrade moves it to the folder's code, if that does again what is recorded",
		"quarantined": "its step has ended the process again and again; no command can let it go yet; a new run with another --id begins anew",
		"budget":      "no command can raise a budget yet; a new run with another --id has its own",
		"deadline":    "its time is over; what is done stands; a new run with another --id has its own",
	},
}

// advise returns the advice for a run, empty if it moves by itself or has actions.
// resume is the command that goes on with it.
func advise(c *pawl.Checkpoint, resume string) string {
	if len(c.Actions) > 0 {
		return ""
	}
	of := advice[c.State]
	for _, r := range c.Reasons {
		if text, ok := of[r.Code]; ok {
			return strings.Replace(text, "COMMAND", resume, 1)
		}
	}
	return strings.Replace(of[""], "COMMAND", resume, 1)
}
