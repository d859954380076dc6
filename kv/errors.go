package kv

import (
	"errors"
	"fmt"
)

// Errors about keys and batches.
var (
	// ErrNotFound is returned when a key is absent.
	ErrNotFound = errors.New("kv: not found")
	// ErrRequirement is returned when a requirement of a batch did not hold.
	// The batch changed nothing; the store is fine.
	ErrRequirement = errors.New("kv: requirement not met")
	// ErrBatchTooLarge is returned when a batch alone is over the store's
	// limit. The batch changed nothing; the store is fine.
	ErrBatchTooLarge = errors.New("kv: batch too large")
)

// Errors about the store as a whole.
var (
	// ErrClosed is returned when the store has been closed.
	ErrClosed = errors.New("kv: store closed")
	// ErrStoreBroken is returned by everything after a commit failed for
	// another reason than a requirement: what is on the disk is not known, or
	// whether a requirement held (a [CorruptError] is then in the chain), so
	// nothing may be sent or told any more until [Store.Reopen] has succeeded.
	ErrStoreBroken = errors.New("kv: store broken by a failed commit; it has to be reopened")
	// ErrStoreLocked is matched by a [LockedError].
	ErrStoreLocked = errors.New("kv: store locked")
	// ErrNoSpace is returned when free space is below the store's reserve. The
	// batch changed nothing; the store is fine, and commits go on when there is
	// space again.
	ErrNoSpace = errors.New("kv: not enough free space")
)

// Errors about leases.
var (
	// ErrLeased is matched by a [LeasedError].
	ErrLeased = errors.New("kv: leased to somebody else")
	// ErrLeaseLost is returned when a lease was over and somebody else has
	// taken its name since.
	ErrLeaseLost = errors.New("kv: lease lost")
)

// LeasedError is returned when somebody else has a lease. It matches
// [ErrLeased].
type LeasedError struct {
	Name  []byte
	Owner string
}

func (e *LeasedError) Error() string {
	return fmt.Sprintf("kv: %q is leased to %s", e.Name, e.Owner)
}

// Is reports whether target is [ErrLeased].
func (e *LeasedError) Is(target error) bool { return target == ErrLeased }

// LockedError is returned by [Open] when another process has the directory.
// It matches [ErrStoreLocked].
type LockedError struct {
	Dir string
	// PID is the owner's process id, or 0 if it is not known.
	PID int
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("kv: store %s is locked by another process", e.Dir)
	}
	return fmt.Sprintf("kv: store %s is locked by process %d", e.Dir, e.PID)
}

// Is reports whether target is [ErrStoreLocked].
func (e *LockedError) Is(target error) bool { return target == ErrStoreLocked }

// ErrCorrupt is matched by a [CorruptError] and a [DamageError].
var ErrCorrupt = errors.New("kv: corrupt record")

// CorruptError is returned when what is stored under a key cannot be what was
// written there: a checksum, a running hash or a count does not fit. It
// matches [ErrCorrupt].
type CorruptError struct {
	Key    []byte
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("kv: corrupt record at %q: %s", e.Key, e.Reason)
}

// Is reports whether target is [ErrCorrupt].
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// DamageError is returned by [Open] when a file of the store cannot be what was
// written there. Nothing in the directory was changed. It matches [ErrCorrupt].
type DamageError struct {
	// File is the file's path.
	File   string
	Reason string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("kv: %s is damaged: %s; the store was not opened and nothing was changed: "+
		"keep the directory as it is and restore it from a copy", e.File, e.Reason)
}

// Is reports whether target is [ErrCorrupt].
func (e *DamageError) Is(target error) bool { return target == ErrCorrupt }
