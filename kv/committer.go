package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
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

	wake  chan struct{} // there is something to look at; capacity 1
	timer *time.Timer   // the linger of the first queued batch
	ended chan struct{}

	// mu guards what follows.
	mu      sync.Mutex
	queue   []*pending
	hurried bool // somebody waits for a queued batch
	closed  bool
}

func startCommitter(s *badgerStore, linger time.Duration) *committer {
	c := &committer{
		store:  s,
		linger: linger,
		limit:  mergeLimit(s.db),
		commit: func(txn *badger.Txn, number uint64) error { return txn.CommitAt(number, nil) },
		wake:   make(chan struct{}, 1),
		timer:  time.NewTimer(linger),
		ended:  make(chan struct{}),
	}
	c.timer.Stop()
	go c.run()
	return c
}

// add queues a batch.
func (c *committer) add(b *Batch) Pending {
	p := newPending(c, b)
	if err := p.check(c.limit); err != nil {
		return p.fail(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return p.fail(ErrClosed)
	}
	if err := c.store.health(); err != nil {
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
	count, err := c.merge(queue, c.store.snapshots.last()+1)
	number := c.store.snapshots.last()
	for _, p := range queue[:count] {
		if err != nil {
			p.err = err
		}
		p.finish(number)
	}
	return count
}

// merge applies as many batches as fit and makes them durable. An error of one
// batch is in that batch; the error returned is that of all of them.
func (c *committer) merge(queue []*pending, number uint64) (count int, err error) {
	if err := c.store.health(); err != nil {
		return len(queue), err
	}
	count = 1
	defer c.store.guard(&err)
	txn := c.store.db.NewTransactionAt(number-1, true)
	defer txn.Discard()
	var used cost
	var changes bool
	for count = 0; count < len(queue); count++ {
		p := queue[count]
		if used.add(p.cost); count > 0 && !used.within(c.limit) {
			break
		}
		p.err = c.meets(txn, p.batch.Requirements)
		if errors.Is(p.err, ErrRequirement) {
			continue
		}
		if err = p.err; err == nil {
			err = p.apply(txn)
		}
		if err != nil {
			// Later batches of this writer count on this one.
			return count + 1, c.store.poison(err)
		}
		changes = changes || len(p.sealed) > 0
	}
	if !changes {
		return count, nil
	}
	return count, c.finish(txn, number)
}

// finish commits the transaction.
func (c *committer) finish(txn *badger.Txn, number uint64) error {
	mark := binary.BigEndian.AppendUint64(nil, number)
	err := txn.Set(markerKey, sealRecord(markerKey, mark))
	if err == nil {
		err = c.commit(txn, number)
	}
	if err != nil {
		return c.store.poison(err)
	}
	c.store.snapshots.advance(number)
	return nil
}

// meets checks requirements inside the transaction, where they see the batches
// merged before.
func (c *committer) meets(txn *badger.Txn, requirements []Requirement) error {
	for _, r := range requirements {
		value, err := c.store.get(txn, r.Key)
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
