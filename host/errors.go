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

// WaitError is returned when a call has to wait longer than its Patience: for
// the next try, for the next query, until a send that ignores its deadline has
// returned, or until a receiver accepts the credentials. Nothing is in flight
// (but see Hanging) and nothing is settled. Record Waited durably, leave, and go
// on at Until with a [Past] that has it.
type WaitError struct {
	Tool string
	Key  Key
	// Until is when to go on.
	Until time.Time
	// Paused says that the receiver refused the credentials: other calls of the
	// tool should wait too, and no try is used up by it.
	Paused bool
	// Hanging says that a send has not returned although its deadline is over.
	Hanging bool
	Waited  Waited
}

func (e *WaitError) Error() string {
	why := e.Waited.Last.Code
	if e.Hanging {
		why = "its send has not returned"
	}
	return fmt.Sprintf("host: %s (key %s) waits until %s: %s", e.Tool, e.Key, e.Until.UTC().Format(time.RFC3339), why)
}

// BodyError says why the body of a request is not JSON with exactly one
// meaning: it breaks off, has a name twice, half of a surrogate pair, or is
// nested too deep.
type BodyError struct {
	// Offset is where in the body, in bytes.
	Offset int
	Reason string
}

func (e *BodyError) Error() string {
	return fmt.Sprintf("host: request body, byte %d: %s", e.Offset, e.Reason)
}

// ContractError says what is wrong with a tool or its contract.
type ContractError struct {
	Tool string // empty where it is not known
	// Field is the name of the field as in the contract's JSON.
	Field  string
	Reason string
}

func (e *ContractError) Error() string {
	if e.Tool == "" {
		return fmt.Sprintf("host: contract: %s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("host: tool %q: %s: %s", e.Tool, e.Field, e.Reason)
}
