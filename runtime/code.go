package runtime

import (
	"errors"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// codes is the one table of the errors that the engine returns, by the code
// under which programs know them: the command line, problem bodies of HTTP, and
// documents. The first that fits counts, so causes come before what wraps them.
var codes = []struct {
	err  error
	code string
}{
	{kv.ErrStoreLocked, "store_locked"},
	{ErrUndecodable, "undecodable"},
	{kv.ErrCorrupt, "corrupt"},
	{kv.ErrStoreBroken, "store_broken"},
	{kv.ErrNoSpace, "no_space"},
	{ErrUnavailable, "store_unavailable"},
	{ErrHeld, "held"},
	{ErrFenced, "fenced"},
	{ErrIncompatible, "incompatible"},
	{ErrInputConflict, "input_conflict"},
	{ErrStale, "stale"},
	{ErrAlreadyRunning, "already_running"},
	{ErrInvalidInput, "invalid_input"},
	{ErrTooLarge, "too_large"},
	{ErrNotFound, "not_found"},
	{ErrNeedsDecision, "needs_decision"},
	{host.ErrOutcomeUnknown, "outcome_unknown"},
	{ErrDeterministic, "deterministic"},
	{ErrBudgetSpent, "budget_spent"},
	{ErrFailed, "failed"},
	{ErrInterrupted, "interrupted"},
	{ErrClosed, "closed"},
}

// CodeOf is the code of an error that the engine, or its store, returned; empty
// for others. The codes are part of the public formats.
func CodeOf(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return ""
}
