package host

import "context"

// Secret is a value that a tool needs to be let in by its receiver, such as a
// token. It may be used concurrently.
type Secret struct {
	// Account names whose books a receiver opens for the value, such as
	// "acme-eu"; it is part of what [Receiving] returns. Defaults to "": the
	// value says nothing about that.
	Account string
	// Value returns the value as it is now. It is called for each sending, so
	// that a rotated secret needs no restart, and returns soon after ctx ends.
	// The caller must not keep the value. The error is recorded: it says what is
	// missing, and holds no secret.
	Value func(ctx context.Context) (string, error)
	// Refused is told that a receiver did not accept a value: whoever keeps one
	// for a while reads it anew. Defaults to nil: nothing is kept.
	Refused func(value string)
}
