package kvtest

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// diskPending is the [kv.Pending] of a diskStore.
type diskPending struct {
	store *diskStore
	batch *kv.Batch
	due   bool // guarded by Disk.mu
	ended bool // guarded by Disk.mu
	done  chan struct{}

	// Written before done is closed.
	err    error
	number uint64
}

// Commit implements [kv.Store].
func (s *diskStore) Commit(b *kv.Batch) kv.Pending {
	p := &diskPending{store: s, batch: b, done: make(chan struct{})}
	d := s.disk
	d.mu.Lock()
	err := s.healthLocked()
	if tooLarge := check(b); tooLarge != nil {
		err = tooLarge
	}
	if err != nil {
		defer d.mu.Unlock()
		p.finish(0, err)
		return p
	}
	s.queue = append(s.queue, p)
	write := func() {}
	if b.Urgent {
		s.hurryLocked()
		write = s.begin()
	}
	d.mu.Unlock()
	write()
	return p
}

func check(b *kv.Batch) error {
	size := 0
	for _, c := range b.Changes {
		size += len(c.Key) + len(c.Value)
	}
	if size > maxBatch {
		return fmt.Errorf("%w: %d bytes, limit %d bytes", kv.ErrBatchTooLarge, size, maxBatch)
	}
	return nil
}

// Wait implements [kv.Pending].
func (p *diskPending) Wait(ctx context.Context) error {
	d := p.store.disk
	d.mu.Lock()
	write := func() {}
	if !p.ended && !p.due {
		p.store.hurryLocked()
		write = p.store.begin()
	}
	d.mu.Unlock()
	write()
	select {
	case <-p.done:
		return p.err
	default:
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done implements [kv.Pending].
func (p *diskPending) Done() <-chan struct{} { return p.done }

// Err implements [kv.Pending].
func (p *diskPending) Err() error { return p.err }

// Number implements [kv.Pending].
func (p *diskPending) Number() uint64 { return p.number }

// finish says what became of the batch, unless that was said before. The caller
// holds mu.
func (p *diskPending) finish(number uint64, err error) {
	if p.ended {
		return
	}
	p.ended = true
	p.number, p.err = number, err
	close(p.done)
}

// hurryLocked has everything queued written, in one commit if nothing of it is
// due already. The caller holds mu.
func (s *diskStore) hurryLocked() {
	if n := len(s.queue); n > 0 && !s.queue[n-1].due {
		for _, p := range s.queue {
			p.due = true
		}
		s.due = append(s.due, n)
	}
}

// begin returns what writes everything due, to be called without mu; the caller
// holds it. While something is planned a commit can block, and so it must not
// be on the time of whoever queued the batch.
func (s *diskStore) begin() func() {
	if s.writing || len(s.due) == 0 {
		return func() {}
	}
	s.writing, s.idle = true, make(chan struct{})
	if len(s.disk.plans) > 0 {
		return func() { go s.write() }
	}
	return s.write
}

// write makes physical commits until nothing is due.
func (s *diskStore) write() {
	d := s.disk
	for {
		d.mu.Lock()
		if len(s.due) == 0 {
			s.writing = false
			close(s.idle)
			d.mu.Unlock()
			return
		}
		n := s.due[0]
		s.taken, s.queue = s.queue[:n:n], s.queue[n:]
		s.due = s.due[1:]
		for i := range s.due {
			s.due[i] -= n
		}
		d.asked++
		c := &commit{store: s, number: d.asked, batches: s.taken}
		d.mu.Unlock()
		c.run()
	}
}

// commit is a physical commit.
type commit struct {
	store   *diskStore
	number  int // counted as Disk.asked
	batches []*diskPending
	errs    []error // of the batches, after apply
}

// run makes the commit, or breaks the store.
func (c *commit) run() {
	d := c.store.disk
	defer d.forget(c.number)
	err := d.planned(c.number, Asked)
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	next := c.apply(err)
	d.mu.Unlock()
	if next != nil {
		c.sync(*next)
	}
}

// apply works out what is stored after the commit; nil if it has failed. The
// caller holds mu.
func (c *commit) apply(err error) *table {
	s, d := c.store, c.store.disk
	switch {
	case s.broken != nil: // the power was cut meanwhile
		return nil
	case err != nil:
		s.breakLocked(err)
		return nil
	case d.full:
		c.finish(func(int) error { return fmt.Errorf("%w: the disk is full", kv.ErrNoSpace) })
		return nil
	}
	next := d.durable.clone()
	c.errs = make([]error, len(c.batches))
	for i, p := range c.batches {
		if err := d.requirable(p.batch); err != nil {
			s.breakLocked(err)
			return nil
		}
		if c.errs[i] = next.meets(p.batch, d.now); c.errs[i] == nil {
			next.apply(p.batch)
		}
	}
	return &next
}

// sync makes the commit durable and tells everybody.
func (c *commit) sync(next table) {
	s, d := c.store, c.store.disk
	err := d.planned(c.number, Written)
	d.mu.Lock()
	switch {
	case s.broken != nil:
		d.mu.Unlock()
		return
	case err != nil:
		queue := s.queue
		s.queue = nil // only what was written is in doubt
		d.keep([]*diskStore{s})
		s.queue = queue
		s.breakLocked(err)
		d.mu.Unlock()
		return
	}
	d.durable = next
	d.number++
	s.taken = nil // durable, whatever happens
	d.mu.Unlock()

	err = d.planned(c.number, Synced)
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.broken == nil && err != nil {
		s.breakLocked(err)
	}
	if s.broken != nil {
		c.finish(func(int) error { return s.broken })
		return
	}
	s.syncs++
	c.finish(func(i int) error { return c.errs[i] })
	c.tell()
}

// finish tells those who wait. The caller holds mu.
func (c *commit) finish(err func(i int) error) {
	s := c.store
	for i, p := range c.batches {
		e := err(i)
		if e == nil {
			s.commits++
		}
		p.finish(s.disk.number, e)
	}
	s.taken = nil
}
