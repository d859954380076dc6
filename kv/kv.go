package kv

import (
	"context"
	"iter"
	"time"
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

	// Lease takes name for owner until ttl has passed by the store's clock, or
	// until it is released or renewed. While somebody else has it, Lease fails
	// at once with a [LeasedError]. One owner can take a name it has again. The
	// leases of an exclusive store live in memory and end with the process.
	Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (Lease, error)

	// Watch sends a value to changed after a durable batch has changed a key
	// that begins with prefix. It waits for nobody: make the channel with room
	// for one value, which then stands for all changes since it was received
	// last. One channel may watch several prefixes, and others may send to it.
	// stop ends it; it may be called more than once.
	Watch(prefix []byte, changed chan<- struct{}) (stop func())

	// Health says how the store is. It never waits for a commit.
	Health() Health

	// Reopen opens a store anew whose commit failed. What was queued has failed
	// with [ErrStoreBroken]; what a view shows from then on is durable. It
	// keeps the lock, the leases and the watchers. On a store that is not broken
	// it does nothing. After an error the store stays broken, and Reopen may be
	// called again.
	Reopen(ctx context.Context) error

	// Close writes what is queued, waits for it and releases the store.
	Close() error
}

// Lease is the right of one owner to something that has a name. It is safe for
// concurrent use.
type Lease interface {
	// Until is when the lease is over by this process's clocks, never later
	// than by the store's. It is the zero time if the lease ends only with
	// Release or the process.
	Until() time.Time
	// Renew prolongs the lease to ttl from now. It fails with [ErrLeaseLost] if
	// it was over and somebody else has taken the name since.
	Renew(ctx context.Context, ttl time.Duration) error
	// Release gives the name up. Releasing a lost lease changes nothing.
	Release(ctx context.Context) error
}

// Condition is how a store is.
type Condition string

// The conditions of a store.
const (
	Healthy Condition = "ok"
	// Full means that free space is below the reserve: commits fail with
	// [ErrNoSpace] until there is more.
	Full Condition = "no_space"
	// Broken means that a commit failed: see [Store.Reopen].
	Broken Condition = "broken"
	// Held means that the store is a copy, a restored directory, or lacks
	// commits that were durable once: it can be read and written, but whoever
	// sends effects on its word must not. It stays so when it is opened again.
	Held Condition = "held"
)

// Health is how a store is at a moment. Its JSON form is public.
type Health struct {
	Condition Condition `json:"condition"`
	// Reason says in a sentence why the condition is not Healthy, and what to
	// do; empty if it is.
	Reason string `json:"reason,omitempty"`
	// Commits counts the batches that became durable since the store was
	// opened, Syncs the physical commits that carried them.
	Commits uint64 `json:"commits"`
	Syncs   uint64 `json:"syncs"`
	// CommitRate and SyncRate are how many of them there were a second, over the
	// last minute or since the store was opened; 0 where they are not known.
	CommitRate float64 `json:"commit_rate"`
	SyncRate   float64 `json:"sync_rate"`
	// SyncMode says in a word how a durable commit reaches the disk, such as
	// "fsync"; empty where that is not known.
	SyncMode string `json:"sync_mode,omitempty"`
	// Size, Free and Reserve are bytes: on the disk, left there, and the least
	// that must be left; 0 where they are not known.
	Size    int64 `json:"size"`
	Free    int64 `json:"free"`
	Reserve int64 `json:"reserve"`
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
	// Expires, if not zero, is when the key becomes absent by itself, by the
	// store's clock and to the second. A requirement does not see it any more
	// then.
	Expires time.Time
}

// Set sets key to value.
func (b *Batch) Set(key, value []byte) {
	b.Changes = append(b.Changes, Change{Key: key, Value: value})
}

// SetUntil sets key to value until a time.
func (b *Batch) SetUntil(key, value []byte, expires time.Time) {
	b.Changes = append(b.Changes, Change{Key: key, Value: value, Expires: expires})
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
