package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound is returned when there is no such run or workflow.
	ErrNotFound = errors.New("pawl: not found")
	// ErrInputConflict is returned by a start whose external id belongs to a
	// run of another input or workflow.
	ErrInputConflict = errors.New("pawl: external id is taken by a run with another input")
	// ErrUndecodable is matched by an [UndecodableError].
	ErrUndecodable = errors.New("pawl: undecodable record")
)

// UndecodableError is returned when a record of a run cannot be understood:
// damaged, of an unknown format, or contradicting the records before it. The
// run stops; others go on. It matches [ErrUndecodable].
type UndecodableError struct {
	Run string
	Key string
	Err error
}

func (e *UndecodableError) Error() string {
	return fmt.Sprintf("pawl: run %s: undecodable record at %q: %v", e.Run, e.Key, e.Err)
}

// Is reports whether target is [ErrUndecodable].
func (e *UndecodableError) Is(target error) bool { return target == ErrUndecodable }

// Unwrap returns the cause.
func (e *UndecodableError) Unwrap() error { return e.Err }
