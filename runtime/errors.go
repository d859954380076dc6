package runtime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

// Errors about what was asked for.
var (
	// ErrNotFound is returned when there is no such run or workflow.
	ErrNotFound = journal.ErrNotFound
	// ErrInvalidInput is matched by an [InputError], and returned by a start
	// whose external id is not allowed, and for an act that is none.
	ErrInvalidInput = errors.New("pawl: invalid input")
	// ErrInputConflict is returned by a start whose external id belongs to a
	// run with another input or of another workflow.
	ErrInputConflict = journal.ErrInputConflict
	// ErrAlreadyRunning is returned when a run is resumed that is under way; the
	// error names the engine that has it.
	ErrAlreadyRunning = errors.New("pawl: already running")
	// ErrStale is returned for an act on a run that has changed since it was
	// shown to whoever acts. Nothing was done.
	ErrStale = errors.New("pawl: changed meanwhile")
	// ErrClosed is returned by an engine that has been closed.
	ErrClosed = errors.New("pawl: engine closed")
)

// Errors about the store.
var (
	// ErrUnavailable is returned when the store could not be read or written.
	// It says nothing about what was asked for, and nothing was executed. The
	// engine opens a store that has failed anew by itself; see [Engine.Health].
	ErrUnavailable = journal.ErrUnavailable
	// ErrHeld is matched by a [HeldError].
	ErrHeld = errors.New("pawl: store held")
	// ErrFenced is returned for a run that another engine has taken over: what
	// this one still did with it was not recorded, and it sends nothing more.
	ErrFenced = errors.New("pawl: fenced")
	// ErrTooLarge is returned for a start that does not fit into a record.
	// Nothing was stored.
	ErrTooLarge = journal.ErrTooLarge
)

// Errors about why a run does not go on.
var (
	// ErrBudgetSpent is matched by a [BudgetError].
	ErrBudgetSpent = journal.ErrBudgetSpent
	// ErrIncompatible is matched by an [IncompatibleError].
	ErrIncompatible = errors.New("pawl: incompatible")
	// ErrNeedsDecision is returned when a person has to decide before a run can
	// go on.
	ErrNeedsDecision = errors.New("pawl: needs a decision")
	// ErrDeterministic is returned when another attempt would fail the same
	// way: new code or another input is needed.
	ErrDeterministic = errors.New("pawl: the same failure would come again")
	// ErrFailed is returned by [Await] for a run whose last attempt failed.
	ErrFailed = errors.New("pawl: failed")
	// ErrInterrupted is returned by [Await] for a run that nobody executes; it
	// can be resumed.
	ErrInterrupted = errors.New("pawl: interrupted")
	// ErrUndecodable is returned when a record of a run cannot be understood.
	// The run stops; others go on.
	ErrUndecodable = journal.ErrUndecodable
)

// InputError is returned when an input does not fit the workflow's schema.
// Nothing has been stored. It matches [ErrInvalidInput].
type InputError struct {
	Workflow string
	Err      error // says where and what
	// Problems are the places of the input that do not fit its schema, in order
	// and at most 20; none if it is not even JSON that can be stored.
	Problems []InputProblem
}

// InputProblem is one thing that does not fit, and where.
type InputProblem = manifest.Problem

// invalid makes an InputError of what a check of the input says.
func invalid(workflow string, err error) *InputError {
	e := &InputError{Workflow: workflow, Err: err}
	var schema *manifest.SchemaError
	if errors.As(err, &schema) {
		e.Problems = schema.Problems
	}
	return e
}

func (e *InputError) Error() string {
	return fmt.Sprintf("pawl: invalid input for %s: %v", e.Workflow, e.Err)
}

// Is reports whether target is [ErrInvalidInput].
func (e *InputError) Is(target error) bool { return target == ErrInvalidInput }

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// IncompatibleError is returned when this program cannot go on with a run as
// the run was begun. Nothing has been executed. It matches [ErrIncompatible].
type IncompatibleError struct {
	Run         string // empty for a start that was refused
	Differences []Difference
}

// Difference is one pin of a run that does not fit this program.
type Difference struct {
	// Pin names it, such as "tool payments-eu" or "arch".
	Pin string `json:"pin"`
	// What says what differs, such as "contract changed, effect: keyed -> once"
	// (what the run was begun with, then what this program has).
	What string `json:"what"`
}

func (e *IncompatibleError) Error() string {
	var s strings.Builder
	s.WriteString("pawl: incompatible")
	if e.Run != "" {
		s.WriteString(" with run " + e.Run)
	}
	for i, d := range e.Differences {
		s.WriteString([]string{": ", "; "}[min(i, 1)] + d.Pin + ": " + d.What)
	}
	return s.String()
}

// Is reports whether target is [ErrIncompatible].
func (e *IncompatibleError) Is(target error) bool { return target == ErrIncompatible }

// StepError says where a run stands that does not go on, and what to do.
type StepError struct {
	Run, Step string
	Attempt   int
	Err       error
	Hint      string
}

func (e *StepError) Error() string {
	return fmt.Sprintf("run %s: %s (attempt %d): %v", e.Run, e.Step, e.Attempt, e.Err)
}

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// divergedError ends an attempt that made another call than its journal holds,
// or would claim effects in another order than they happened in.
type divergedError struct {
	call          int
	expected, got string
	disorder      string // instead of those two
}

func (e *divergedError) Error() string {
	if e.disorder != "" {
		return fmt.Sprintf("call %d %s; nothing was sent", e.call, e.disorder)
	}
	return fmt.Sprintf("call %d differs from the journal: expected %s, got %s; nothing was sent", e.call, e.expected, e.got)
}
