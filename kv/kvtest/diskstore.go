package kvtest

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// maxBatch is the size in bytes of the largest batch, about that of Badger's
// store.
const maxBatch = 1 << 20

// diskStore is the [kv.Store] on a Disk. Its fields are guarded by Disk.mu.
type diskStore struct {
	disk *Disk

	queue   []*diskPending // not being written
	due     []int          // the queue is to be written up to these places, each in a commit of its own
	taken   []*diskPending // being written
	writing bool           // somebody makes commits
	idle    chan struct{}  // closed when nobody does any more

	broken   error // why nothing works
	dead     bool  // broken for good
	closed   bool
	commits  uint64
	syncs    uint64
	watchers map[*watcher]bool
}

// Exclusive implements [kv.Store].
func (s *diskStore) Exclusive() bool { return !s.disk.opts.Shared }

// healthLocked returns nil or why nothing works. The caller holds mu.
func (s *diskStore) healthLocked() error {
	if s.closed {
		return kv.ErrClosed
	}
	return s.broken
}

// breakLocked makes everything fail, and what is on its way with it. The caller
// holds mu.
func (s *diskStore) breakLocked(cause error) {
	if s.broken == nil {
		s.broken = fmt.Errorf("%w: %w", kv.ErrStoreBroken, cause)
	}
	for _, p := range append(s.taken, s.queue...) {
		p.finish(0, s.broken)
	}
	s.taken, s.queue, s.due = nil, nil, nil
}

// Health implements [kv.Store].
func (s *diskStore) Health() kv.Health {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	h := kv.Health{Condition: kv.Healthy, Commits: s.commits, Syncs: s.syncs, Size: d.durable.size()}
	switch {
	case s.broken != nil:
		h.Condition, h.Reason = kv.Broken, fmt.Sprintf("A commit failed (%v); reopen the store.", s.broken)
	case d.held != "":
		h.Condition, h.Reason = kv.Held, d.held
	case d.full:
		h.Condition, h.Reason = kv.Full, "The disk is full; make room."
	}
	return h
}

// Reopen implements [kv.Store].
func (s *diskStore) Reopen(ctx context.Context) error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.closed:
		return kv.ErrClosed
	case s.broken == nil:
		return nil
	case s.dead: // nothing to wait for
		return fmt.Errorf("%w: %w", kv.ErrClosed, s.broken)
	case s.disk.closed != nil:
		return fmt.Errorf("%w: %w", kv.ErrStoreBroken, s.disk.closed)
	}
	s.broken = nil
	// What was lost and what landed is seen only now.
	for w := range s.watchers {
		w.tell()
	}
	return nil
}

// Close implements [kv.Store]. It does not wait for running views.
func (s *diskStore) Close() error {
	d := s.disk
	d.mu.Lock()
	if s.closed {
		d.mu.Unlock()
		return kv.ErrClosed
	}
	s.closed = true
	s.hurryLocked()
	write := s.begin()
	idle := s.idle
	d.mu.Unlock()
	write()
	if idle != nil {
		<-idle
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(s.watchers)
	d.remove(s)
	return s.broken
}
