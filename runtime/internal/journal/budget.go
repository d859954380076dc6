package journal

import (
	"errors"
	"fmt"
	"sort"
	"time"
)

// ErrBudgetSpent is matched by a [BudgetError].
var ErrBudgetSpent = errors.New("pawl: budget spent")

// Names of the budgets.
const (
	BudgetAttempts     = "attempts"
	BudgetStepAttempts = "step_attempts"
	BudgetCalls        = "calls"
	BudgetRecoveries   = "recoveries"
	BudgetActive       = "active_time"
	BudgetWork         = "work"
	BudgetDeadline     = "deadline"
)

// Limits are what a run may spend in total, over all processes. A zero field
// is no limit, except Recoveries.
type Limits struct {
	Attempts int `cbor:"1,keyasint,omitempty"`
	Calls    int `cbor:"2,keyasint,omitempty"`
	// Recoveries in a row at one journal position.
	Recoveries int              `cbor:"3,keyasint"`
	Active     time.Duration    `cbor:"4,keyasint,omitempty"`
	Units      map[string]int64 `cbor:"5,keyasint,omitempty"`
	// Deadline is absolute, in microseconds since the epoch.
	Deadline int64 `cbor:"6,keyasint,omitempty"`
	// Work is what the guests may compute, in the units of the sandbox.
	Work int64 `cbor:"7,keyasint,omitempty"`
}

// Used is what a run has spent.
type Used struct {
	Attempts, Calls int
	// Recoveries in all, and those in a row at the position reached.
	Recoveries, InARow int
	Active             time.Duration
	Units              map[string]int64
	// Work is what the guests have computed: each position of an attempt once,
	// however often it was entered.
	Work int64
}

// BudgetError is returned when a budget of a run does not allow what comes
// next. It matches [ErrBudgetSpent].
type BudgetError struct {
	Budget string // one of the Budget constants, or the name of a unit
	Limit  string // as a person reads it
	Used   string
}

func (e *BudgetError) Error() string {
	if e.Budget == BudgetDeadline {
		return fmt.Sprintf("pawl: budget spent: the run's deadline was %s", e.Limit)
	}
	return fmt.Sprintf("pawl: budget spent: %s %s of %s", e.Budget, e.Used, e.Limit)
}

// Is reports whether target is [ErrBudgetSpent].
func (e *BudgetError) Is(target error) bool { return target == ErrBudgetSpent }

func counted[N int | int64](name string, limit, used N) error {
	return &BudgetError{Budget: name, Limit: fmt.Sprint(limit), Used: fmt.Sprint(used)}
}

// allowCall reports whether one more sending that charges units is allowed.
func (s *State) allowCall(units []string, now time.Time) error {
	l := &s.Start.Limits
	if err := s.allowTime(now); err != nil {
		return err
	}
	if l.Calls > 0 && s.Used.Calls >= l.Calls {
		return counted(BudgetCalls, l.Calls, s.Used.Calls)
	}
	if err := s.allowWork(); err != nil {
		return err
	}
	units = append([]string(nil), units...)
	sort.Strings(units)
	for _, u := range units {
		if limit, ok := l.Units[u]; ok && s.Used.Units[u] >= limit {
			return &BudgetError{Budget: u, Limit: fmt.Sprint(limit), Used: fmt.Sprint(s.Used.Units[u])}
		}
	}
	return nil
}

// AllowAttempt reports whether one more attempt of a step is allowed.
// stepLimit is the step's own limit.
func (s *State) AllowAttempt(step, stepLimit int, now time.Time) error {
	if err := s.allowTime(now); err != nil {
		return err
	}
	if used := s.Steps[step].Attempts - s.Steps[step].Spared; used >= stepLimit {
		return counted(BudgetStepAttempts, stepLimit, used)
	}
	if l := s.Start.Limits.Attempts; l > 0 && s.Used.Attempts >= l {
		return counted(BudgetAttempts, l, s.Used.Attempts)
	}
	return s.allowWork()
}

// allowRecovery reports whether the attempt may be entered once more at the
// position where it stands.
func (s *State) allowRecovery() error {
	if l := s.Start.Limits.Recoveries; s.recoveriesHere() >= l {
		return counted(BudgetRecoveries, l, s.recoveriesHere())
	}
	return nil
}

// TimeLimit is when the run, if it goes on without a rest from now, has to
// stop, and the budget that is spent then; zero if there is no limit.
func (s *State) TimeLimit(now time.Time) (at time.Time, spent error) {
	l := &s.Start.Limits
	if l.Deadline > 0 {
		at, spent = fromMicros(l.Deadline), &BudgetError{Budget: BudgetDeadline, Limit: fromMicros(l.Deadline).Format(time.RFC3339)}
	}
	if l.Active > 0 {
		if end := now.Add(l.Active - s.Used.Active); at.IsZero() || end.Before(at) {
			at, spent = end, &BudgetError{Budget: BudgetActive, Limit: l.Active.String(), Used: l.Active.String()}
		}
	}
	return at, spent
}

func (s *State) allowTime(now time.Time) error {
	l := &s.Start.Limits
	if l.Deadline > 0 && micros(now) > l.Deadline {
		return &BudgetError{Budget: BudgetDeadline, Limit: fromMicros(l.Deadline).Format(time.RFC3339)}
	}
	if l.Active > 0 && s.Used.Active >= l.Active {
		return &BudgetError{Budget: BudgetActive, Limit: l.Active.String(), Used: s.Used.Active.Round(time.Millisecond).String()}
	}
	return nil
}
