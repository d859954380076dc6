package kv

import (
	"context"

	"github.com/dgraph-io/badger/v4"
)

// pending is the [Pending] of a committer.
type pending struct {
	committer *committer
	life      *life // in which it was queued
	batch     *Batch
	sealed    []sealed
	cost      cost
	done      chan struct{}
	taken     bool // guarded by committer.mu

	// Written before done is closed.
	err    error
	number uint64
}

// sealed is a change as Badger is given it.
type sealed struct {
	key, value []byte
	expires    uint64 // Unix seconds, or 0
	remove     bool
}

// newPending encodes the batch, on the caller's time instead of the
// committer's.
func newPending(c *committer, b *Batch) *pending {
	p := &pending{committer: c, batch: b, done: make(chan struct{}), sealed: make([]sealed, len(b.Changes))}
	for i, change := range b.Changes {
		s := sealed{key: userKey(change.Key), remove: change.Delete}
		if !change.Delete {
			s.expires = expiry(change.Expires)
			s.value = sealRecord(change.Key, change.Value, s.expires)
		}
		p.sealed[i] = s
		p.cost.add(s.cost())
	}
	return p
}

// apply puts the changes into the transaction. An error leaves it half done.
func (p *pending) apply(txn *badger.Txn) error {
	for _, s := range p.sealed {
		var err error
		switch {
		case s.remove:
			err = txn.Delete(s.key)
		case s.expires > 0:
			err = txn.SetEntry(&badger.Entry{Key: s.key, Value: s.value, ExpiresAt: dropAt(s.expires)})
		default:
			err = txn.Set(s.key, s.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Wait implements [Pending].
func (p *pending) Wait(ctx context.Context) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	p.committer.hurry(p)
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done implements [Pending].
func (p *pending) Done() <-chan struct{} { return p.done }

// Err implements [Pending].
func (p *pending) Err() error { return p.err }

// Number implements [Pending].
func (p *pending) Number() uint64 { return p.number }

// finish tells everybody what became of the batch, and lets go of its bytes:
// the caller may keep p for long.
func (p *pending) finish(number uint64) {
	p.batch, p.sealed, p.life = nil, nil, nil
	p.number = number
	close(p.done)
}

// fail finishes a batch that is not queued.
func (p *pending) fail(err error) *pending {
	p.err = err
	p.finish(0)
	return p
}
