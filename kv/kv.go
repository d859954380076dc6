package kv

import (
	"context"
	"iter"
)

// Store is an ordered map of byte keys to byte values with atomic batches and
// a durable barrier. [Open] gives one on a local directory.
//
// All methods may be used concurrently. Every method of a closed store fails
// with [ErrClosed]; every method of a poisoned one with [ErrStoreBroken].
type Store interface {
	// View calls f with a consistent snapshot. The snapshot is a prefix of the
	// commit order and shows only what is durable. It must not be used after f
	// returns. View returns f's error.
	View(f func(View) error) error

	// Commit queues the batch and returns at once. Batches of one writer are
	// applied in the order of their Commit calls; each is applied whole or not
	// at all. The batch and its bytes belong to the store from then on.
	//
	// A batch whose requirement does not hold changes nothing and fails with
	// [ErrRequirement]; one that is too large fails at once with
	// [ErrBatchTooLarge]. Later batches of the writer are applied all the same:
	// one that must not land without it has to require something that it
	// writes, as those of a [Chain] do. Any other error breaks the store, so
	// that no later batch lands.
	Commit(b *Batch) Pending

	// Exclusive reports whether this process alone can use the store, so that
	// nobody else can have changed it since it was opened.
	Exclusive() bool

	// Close writes what is queued, waits for it and releases the store.
	Close() error
}

// View is a consistent snapshot of a store. It is not safe for concurrent use.
type View interface {
	// Get returns the value of key, or [ErrNotFound]. The caller owns the
	// returned bytes.
	Get(key []byte) ([]byte, error)

	// Scan ranges over the keys of r in order. An error ends the sequence. The
	// caller owns the yielded bytes.
	Scan(r Range) iter.Seq2[Item, error]
}

// Item is one key with its value.
type Item struct {
	Key, Value []byte
}

// Range selects the keys that begin with Prefix.
type Range struct {
	Prefix []byte
	// From, if not nil, leaves out keys before it (after it, if Reverse).
	From []byte
	// Reverse goes from the last key to the first.
	Reverse bool
	// KeysOnly leaves Item.Value nil.
	KeysOnly bool
}

// Pending is a batch on its way to the disk.
type Pending interface {
	// Wait is the durable barrier: when it returns nil, the batch and all
	// earlier batches of its writer are durable, except those that failed with
	// [ErrRequirement] or [ErrBatchTooLarge]. It asks the store to write now. It
	// returns ctx's error if ctx ends first; the batch stays queued.
	Wait(ctx context.Context) error

	// Done is closed when the batch is durable or has failed. Unlike Wait it
	// does not hurry the write.
	Done() <-chan struct{}

	// Err returns what became of the batch; it is valid after Done is closed.
	Err() error

	// Number is the number of the physical commit that carried the batch, from
	// 1; valid after Done is closed without an error. Batches with equal
	// numbers became durable together.
	Number() uint64
}

// Batch is a set of changes that are applied together or not at all, provided
// that all requirements hold. Its zero value is an empty batch. It is not safe
// for concurrent use.
type Batch struct {
	Requirements []Requirement
	Changes      []Change
	// Urgent asks the store to write the batch at once even if nobody waits.
	// Otherwise it is written together with the next batch that somebody waits
	// for, or after the store's linger.
	Urgent bool
}

// Requirement is a condition of a batch: Key has Value, or, where Value is
// nil, Key is absent. It sees the effects of all batches applied before.
type Requirement struct {
	Key, Value []byte
}

// Change sets Key to Value, or deletes Key.
type Change struct {
	Key, Value []byte
	Delete     bool
}

// Set sets key to value.
func (b *Batch) Set(key, value []byte) {
	b.Changes = append(b.Changes, Change{Key: key, Value: value})
}

// Delete deletes key; deleting an absent key is no error.
func (b *Batch) Delete(key []byte) {
	b.Changes = append(b.Changes, Change{Key: key, Delete: true})
}

// Require makes the batch depend on key having value.
func (b *Batch) Require(key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	b.Requirements = append(b.Requirements, Requirement{Key: key, Value: value})
}

// RequireAbsent makes the batch depend on key being absent.
func (b *Batch) RequireAbsent(key []byte) {
	b.Requirements = append(b.Requirements, Requirement{Key: key})
}
