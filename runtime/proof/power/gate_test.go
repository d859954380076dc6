package power_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// gate is a process's door to its store: it keeps the disk's clock with the
// others, and is shut while the process stands still. What was to be written
// then is written when it wakes.
type gate struct {
	kv.Store
	world *world

	mu   sync.Mutex // guards what follows
	held []*heldBatch
	is   bool // shut
}

// heldBatch waits for its process to wake.
type heldBatch struct {
	batch *kv.Batch
	ready chan struct{} // closed when inner is there
	inner kv.Pending
	done  chan struct{}
}

var errStandsStill = errors.New("the process stands still")

func (g *gate) Commit(b *kv.Batch) kv.Pending {
	g.world.tick()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.is {
		return g.Store.Commit(b)
	}
	h := &heldBatch{batch: b, ready: make(chan struct{}), done: make(chan struct{})}
	g.held = append(g.held, h)
	return h
}

func (g *gate) View(f func(kv.View) error) error {
	g.world.tick()
	return g.Store.View(f)
}

func (g *gate) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
	if g.isShut() {
		return nil, errStandsStill
	}
	g.world.tick()
	l, err := g.Store.Lease(ctx, name, owner, ttl)
	if err != nil {
		return nil, err
	}
	return &gateLease{l, g}, nil
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.is
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.is = true
}

// open lets what was held go, in its order.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.is = false
	for _, h := range g.held {
		h.inner = g.Store.Commit(h.batch)
		close(h.ready)
		go func() {
			<-h.inner.Done()
			close(h.done)
		}()
	}
	if n := len(g.held); n > 0 {
		last := g.held[n-1].inner
		go func() { _ = last.Wait(context.Background()) }() // as the store's linger would
	}
	g.held = nil
}

func (h *heldBatch) Wait(ctx context.Context) error {
	select {
	case <-h.ready:
		return h.inner.Wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *heldBatch) Done() <-chan struct{} { return h.done }
func (h *heldBatch) Err() error            { return h.inner.Err() }
func (h *heldBatch) Number() uint64        { return h.inner.Number() }

// gateLease is a lease of a process that may stand still.
type gateLease struct {
	kv.Lease
	gate *gate
}

func (l *gateLease) Until() time.Time {
	l.gate.world.tick()
	return l.Lease.Until()
}

func (l *gateLease) Renew(ctx context.Context, ttl time.Duration) error {
	if l.gate.isShut() {
		return errStandsStill
	}
	l.gate.world.tick()
	return l.Lease.Renew(ctx, ttl)
}

func (l *gateLease) Release(ctx context.Context) error {
	if l.gate.isShut() {
		return errStandsStill
	}
	l.gate.world.tick()
	return l.Lease.Release(ctx)
}
