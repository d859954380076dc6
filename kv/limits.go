package kv

import "fmt"

// The limits of a batch, equal in every [Store]. One within them never fails
// with [ErrBatchTooLarge], so a writer that stays below by construction, or
// asks before it promises something, never meets it.
const (
	// MaxBatch is the most that [Batch.Size] may be.
	MaxBatch = 1_000_000
	// MaxChanges is the most changes that a batch may have.
	MaxChanges = 10_000
	// MaxKey is the size in bytes of the longest key.
	MaxKey = 64_000
	// MaxEntry is the size in bytes of the largest entry that [Chain.Append]
	// can be sure of: with it there is room for a prefix of up to 1 KiB and
	// for changes with a [Batch.Size] of up to MaxWith.
	MaxEntry = 600_000
	// MaxWith is the most that the changes beside an entry may take.
	MaxWith = 390_000
)

// changeOverhead is what a change counts besides its key and value.
const changeOverhead = 64

// Size is what the changes of the batch count, in bytes: keys, values, and 64
// for each change. Requirements count nothing.
func (b *Batch) Size() int {
	size := 0
	for _, c := range b.Changes {
		size += len(c.Key) + changeOverhead
		if !c.Delete {
			size += len(c.Value)
		}
	}
	return size
}

// fits returns nil or a [ErrBatchTooLarge].
func (b *Batch) fits() error {
	if size := b.Size(); size > MaxBatch || len(b.Changes) > MaxChanges {
		return fmt.Errorf("%w: %d changes of %d bytes, the limit is %d changes and %d bytes",
			ErrBatchTooLarge, len(b.Changes), size, MaxChanges, MaxBatch)
	}
	for _, c := range b.Changes {
		if len(c.Key) > MaxKey {
			return fmt.Errorf("%w: key of %d bytes, the limit is %d bytes", ErrBatchTooLarge, len(c.Key), MaxKey)
		}
	}
	return nil
}
