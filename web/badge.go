package web

import pawl "github.com/pawl-dev/pawl/runtime"

// badge is a state or an outcome: a sign and words, so that nobody has to see
// its colour.
type badge struct {
	Sign, Text string
	Tone       string // good, busy, wait, bad, plain: names a colour in style.css
}

// stateBadge shows the state of a run or a step.
func stateBadge(state pawl.RunState) badge {
	switch state {
	case pawl.StateCompleted:
		return badge{"✓", "completed", "good"}
	case pawl.StateRunning:
		return badge{"▶", "running", "busy"}
	case pawl.StateQueued:
		return badge{"⋯", "queued", "busy"}
	case pawl.StateWaiting:
		return badge{"◷", "waiting", "wait"}
	case pawl.StateNeedsDecision:
		return badge{"!", "needs a decision", "bad"}
	case pawl.StateFailed:
		return badge{"✕", "failed", "bad"}
	case pawl.StateIncompatible:
		return badge{"≠", "incompatible", "bad"}
	case pawl.StateInterrupted:
		return badge{"■", "interrupted", "bad"}
	case pawl.StateHeld:
		return badge{"‖", "held", "bad"}
	case pawl.StatePending:
		return badge{"·", "not begun", "plain"}
	case "":
		return badge{"?", "unreadable", "bad"}
	}
	return badge{"·", words(string(state)), "plain"}
}

// outcomeBadge shows what became of a call, and what its step was told.
func outcomeBadge(c *pawl.CallCheckpoint) badge {
	switch {
	case c.Outcome == "unknown" && c.Receipt == nil && c.Status == "" && c.Effect == "read":
		return badge{"⋯", "no answer yet", "busy"}
	case c.Outcome == "unknown":
		return badge{"?", "unknown", "bad"}
	case c.Outcome == "applied" && c.Effect == "read":
		return badge{"✓", "ok", "good"}
	case c.Outcome == "applied":
		return badge{"✓", "applied", "good"}
	case c.Outcome == "rejected":
		return badge{"✕", "rejected", "bad"}
	case c.Outcome == "not_applied":
		return badge{"○", "not applied", "wait"}
	}
	return badge{"·", words(c.Outcome), "plain"}
}
