package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// ErrUnavailable is matched by an [UnavailableError].
var ErrUnavailable = errors.New("pawl: store unavailable")

// UnavailableError is returned when the store could not be read or written: it
// says nothing about what was looked for, and nothing was executed. It matches
// [ErrUnavailable]; the store's error is in the chain.
type UnavailableError struct{ Err error }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("pawl: store unavailable: %v; repeat it once the store is well again", e.Err)
}

// Is reports whether target is [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// Unwrap returns the store's error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// telling are the errors that speak of what is in the store; all others speak
// of the store.
var telling = [...]error{
	ErrNotFound, ErrInputConflict, ErrUndecodable, ErrTooLarge, ErrUnavailable,
	kv.ErrNotFound, kv.ErrCorrupt, kv.ErrRequirement, kv.ErrBatchTooLarge, context.Canceled, context.DeadlineExceeded,
}

// unavailable marks an error of the store itself, so that it is never taken
// for an answer such as "there is no such run".
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, kv.ErrStoreBroken) {
		for _, t := range telling {
			if errors.Is(err, t) {
				return err
			}
		}
	}
	return &UnavailableError{err}
}

// view reads the store. Every read of the book goes through it.
func (b *Book) view(f func(kv.View) error) error { return unavailable(b.store.View(f)) }
