package host

import (
	"errors"
	"fmt"
	"time"
)

// ErrOutcomeUnknown is matched by an [UndecidedError].
var ErrOutcomeUnknown = errors.New("host: outcome unknown")

// UndecidedError is returned when the outcome of a call cannot be found out by
// the machine: a person has to decide. It matches [ErrOutcomeUnknown].
type UndecidedError struct {
	Tool  string
	Class Class
	Key   Key
	Tries int
	// Last is when the last try was recorded.
	Last time.Time
	// Reason says in one sentence why the machine stops here.
	Reason string
	// Help is the contract's help with the key filled in.
	Help string
}

func (e *UndecidedError) Error() string {
	return fmt.Sprintf("host: outcome of %s (key %s) unknown: %s", e.Tool, e.Key, e.Reason)
}

// Is reports whether target is [ErrOutcomeUnknown].
func (e *UndecidedError) Is(target error) bool { return target == ErrOutcomeUnknown }
