package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// committer is the one goroutine that writes. It takes the waiting batches in
// their order and merges as many as fit into one Badger transaction, so that
// one sync carries all of them.
type committer struct {
	store  *badgerStore
	linger time.Duration
	limit  cost
	// commit makes the transaction durable as physical commit number.
	commit func(txn *badger.Txn, number uint64) error

	commits, syncs atomic.Uint64 // for Health
	rates          rates

	wake  chan struct{} // there is something to look at; capacity 1
	timer *time.Timer   // the linger of the first queued batch
	ended chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	queue   []*pending
	hurried bool // somebody waits for a queued batch
	closed  bool
}

func startCommitter(s *badgerStore, linger time.Duration, db *badger.DB) *committer {
	c := &committer{
		store:  s,
		linger: linger,
		limit:  mergeLimit(db),
		commit: func(txn *badger.Txn, number uint64) error { return txn.CommitAt(number, nil) },
		wake:   make(chan struct{}, 1),
		timer:  time.NewTimer(linger),
		ended:  make(chan struct{}),
	}
	c.timer.Stop()
	c.rates.began = time.Now()
	go c.run()
	return c
}

// add queues a batch.
func (c *committer) add(b *Batch) Pending {
	p := newPending(c, b)
	if err := b.fits(); err != nil {
		return p.fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return p.fail(ErrClosed)
	}
	// A batch belongs to the life it was queued in: after a reopening nobody
	// must find one landed that had to fail with the store.
	p.life = c.store.life.Load()
	if err := p.life.health(); err != nil {
		return p.fail(err)
	}
	c.queue = append(c.queue, p)
	switch {
	case b.Urgent:
		c.hurryLocked()
	case len(c.queue) == 1:
		c.timer.Reset(c.linger)
	}
	return p
}

// hurry has p written now, unless it is being written already: then it must
// not drag along younger batches that nobody waits for.
func (c *committer) hurry(p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.taken {
		c.hurryLocked()
	}
}

func (c *committer) hurryLocked() {
	c.hurried = true
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// close has everything queued written, lets nothing more in and waits.
func (c *committer) close() {
	c.mu.Lock()
	c.closed = true
	c.hurryLocked()
	c.mu.Unlock()
	<-c.ended
}

func (c *committer) run() {
	defer close(c.ended)
	for {
		lingered := false
		select {
		case <-c.wake:
		case <-c.timer.C:
			lingered = true
		}
		queue, closed := c.take(lingered)
		for len(queue) > 0 {
			queue = queue[c.write(queue):]
		}
		if closed {
			return
		}
	}
}

// take empties the queue, if it is time to write it.
func (c *committer) take(lingered bool) (queue []*pending, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.hurried && !lingered {
		return nil, c.closed
	}
	c.hurried = false
	c.timer.Stop()
	queue, c.queue = c.queue, nil
	for _, p := range queue {
		p.taken = true
	}
	return queue, c.closed
}

// write makes one physical commit of the first batches of the queue and
// returns how many they were.
func (c *committer) write(queue []*pending) int {
	l := queue[0].life
	snapshot, err := l.snapshots.begin()
	if err != nil {
		queue[0].fail(c.store.gone(l))
		return 1
	}
	defer l.snapshots.end(snapshot)
	m := &merge{committer: c, life: l}
	count, err := m.do(queue)
	for _, p := range queue[:count] {
		if err != nil {
			p.err = err
		}
	}
	if err == nil && m.changes > 0 {
		c.store.watchers.tell(queue[:count])
		c.store.trimmer.look()
	}
	number := l.snapshots.last()
	for _, p := range queue[:count] {
		p.finish(number)
	}
	return count
}

// merge is one physical commit in the making.
type merge struct {
	committer *committer
	life      *life
	reader    reader
	used      cost
	changes   uint64 // batches that change something
}

// do applies as many batches as fit and makes them durable. An error of one
// batch is in that batch; the error returned is that of all of them.
func (m *merge) do(queue []*pending) (count int, err error) {
	if err := m.life.health(); err != nil {
		return len(queue), err
	}
	if err := m.committer.store.anchor.removed(); err != nil {
		return len(queue), m.life.poison(err)
	}
	full := m.committer.store.space.full()
	count = 1
	defer m.life.guard(&err)
	number := m.life.snapshots.try()
	m.reader = reader{m.life, m.life.db.NewTransactionAt(number-1, true), m.committer.store.clock.now()}
	defer m.reader.txn.Discard()
	for count = 0; count < len(queue); count++ {
		p := queue[count]
		if m.used.add(p.cost); count > 0 && (p.life != m.life || !m.used.within(m.committer.limit)) {
			break
		}
		if err := m.add(p, full); err != nil {
			// Later batches of this writer count on this one.
			return count + 1, m.life.poison(err)
		}
	}
	if m.changes == 0 {
		return count, nil
	}
	return count, m.finish(number)
}

// add applies one batch. A failure that leaves the store fine is the batch's,
// any other is returned.
func (m *merge) add(p *pending, full error) error {
	if full != nil && len(p.sealed) > 0 {
		p.err = full
		return nil
	}
	p.err = m.meets(p.batch.Requirements)
	if errors.Is(p.err, ErrRequirement) {
		return nil
	}
	if p.err == nil {
		p.err = p.apply(m.reader.txn)
	}
	if p.err == nil && len(p.sealed) > 0 {
		m.changes++
	}
	return p.err
}

// finish commits the transaction. The anchor comes last: it may only be lower
// than what is durable.
func (m *merge) finish(number uint64) error {
	c, txn := m.committer, m.reader.txn
	mark := binary.BigEndian.AppendUint64(nil, number)
	err := txn.Set(markerKey, sealRecord(markerKey, mark, 0))
	if err == nil {
		err = c.commit(txn, number)
	}
	if err != nil {
		return m.life.poison(err)
	}
	c.store.anchor.advance(number)
	c.store.space.wrote(m.used.bytes)
	m.life.snapshots.advance(number)
	c.commits.Add(m.changes)
	c.syncs.Add(1)
	c.rates.count(time.Since(c.rates.began), m.changes)
	return nil
}

// meets checks requirements inside the transaction, where they see the batches
// merged before.
func (m *merge) meets(requirements []Requirement) error {
	for _, r := range requirements {
		value, err := m.reader.get(r.Key)
		absent := errors.Is(err, ErrNotFound)
		if err != nil && !absent {
			return err
		}
		if absent != (r.Value == nil) || !bytes.Equal(value, r.Value) {
			return fmt.Errorf("%w: key %q", ErrRequirement, r.Key)
		}
	}
	return nil
}
