package journal

import (
	"context"
	"errors"

	"github.com/pawl-dev/pawl/kv"
)

// settled reports whether an entry is durable.
func settled(p kv.Pending) bool {
	select {
	case <-p.Done():
		return p.Err() == nil
	default:
		return false
	}
}

// Spare makes the re-entry to come free: the program knows that it left the
// attempt in good order, although its store could not take the record of it.
func (r *Run) Spare() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spared = true
}

// Reload reads the run anew and takes it over once more, after its first
// record met one that its owner before had just written.
func (r *Run) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.book.View(r.id, func(s *Snapshot) error {
		r.chain, r.state, r.listed = kv.TakeChain(r.book.store, s.prefix, s.head), s.State, s.Listing()
		r.last, r.queued, r.logs = nil, nil, runLog{}
		r.book.opened.found(r.id, s.State)
		return nil
	})
}

// Cause returns why the run's records do not land any more: the error of the
// first that failed, since all behind it only fail for the lack of it. It is
// nil if none has failed.
func (r *Run) Cause(ctx context.Context) error {
	r.mu.Lock()
	queued := r.queued
	r.mu.Unlock()
	for _, p := range queued {
		if err := p.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Overtaken reports whether somebody else has written the run since this owner
// took it.
func (r *Run) Overtaken() (overtaken bool, err error) {
	r.mu.Lock()
	mine := r.chain.Head()
	r.mu.Unlock()
	err = r.book.view(func(v kv.View) error {
		head, err := kv.ReadHead(v, runPrefix(r.id))
		if errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		overtaken = err == nil && (head.Epoch > mine.Epoch || head.Epoch == mine.Epoch && (head.Seq > mine.Seq || head.Seq == mine.Seq && head.Hash != mine.Hash))
		return err
	})
	return overtaken, err
}
