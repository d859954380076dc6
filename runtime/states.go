package runtime

import (
	"strings"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// Who moves a run that does not move by itself.
const (
	wakerTimer    = "timer"
	wakerOperator = "operator"
	wakerEngine   = "engine"
	wakerRun      = "run " // and the run's id
)

// Codes of reasons that no record has.
const (
	reasonTimer        = "timer" // the next attempt
	reasonCrashed      = "crashed"
	reasonStopped      = "stopped"
	reasonSlowStart    = "slow_start"
	reasonHeld         = "held"
	reasonIncompatible = "incompatible"
)

// standing is a row of the closed table of what a run that does not move by
// itself may be up to.
type standing struct {
	state RunState
	code  string // "" stands for the code of the step's own failure
	waker string // wakerRun stands for any run
}

// standings is the table. A timer also ends the wait for a paused tool or for a
// business key, to look again; the waker named is the one who ends what is waited
// for. Running and completed runs have no reason.
func standings() []standing {
	return []standing{
		{StateWaiting, reasonTimer, wakerTimer},
		{StateWaiting, journal.WaitBackoff, wakerTimer},
		{StateWaiting, journal.WaitRetryAfter, wakerTimer},
		{StateWaiting, journal.WaitSettle, wakerTimer},
		{StateWaiting, journal.WaitHanging, wakerTimer},
		{StateWaiting, journal.WaitPaused, wakerOperator},
		{StateWaiting, journal.WaitKey, wakerRun},
		{StateNeedsDecision, journal.ParkUnknown, wakerOperator},
		{StateNeedsDecision, journal.ParkOrphan, wakerOperator},
		{StateNeedsDecision, journal.ParkDiverged, wakerOperator},
		{StateNeedsDecision, journal.ParkQuarantined, wakerOperator},
		{StateNeedsDecision, journal.ParkBudget, wakerOperator},
		{StateNeedsDecision, journal.ParkDeadline, wakerOperator},
		{StateFailed, "", wakerOperator},
		{StateQueued, reasonSlowStart, wakerEngine},
		{StateInterrupted, reasonCrashed, wakerOperator},
		{StateInterrupted, reasonStopped, wakerOperator},
		{StateIncompatible, reasonIncompatible, wakerOperator},
		{StateHeld, reasonHeld, wakerOperator},
	}
}

// listedReason reports whether the table has a reason of a run in the state.
func listedReason(state RunState, r Reason) bool {
	for _, s := range standings() {
		waker := r.Waker == s.waker || s.waker == wakerRun && strings.HasPrefix(r.Waker, wakerRun)
		if s.state == state && waker && (s.code == r.Code || s.code == "") {
			return true
		}
	}
	return false
}

// Derived reports whether a run's state depends on more than its records: on the
// engine, on its tools or on the store. Such a state can change while the run's
// seq stays.
func (s RunState) Derived() bool {
	switch s {
	case StateRunning, StateInterrupted, StateQueued, StateIncompatible, StateHeld:
		return true
	}
	return false
}
