package runtime_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// faulty is a store that fails as it is told.
type faulty struct {
	kv.Store
	mu sync.Mutex
	// breakAt is the number of the commit, counted down from now, that breaks
	// the store; landed says that it is written all the same.
	breakAt int
	landed  bool
	broken  bool
	full    bool
	held    string
	shared  bool
	stuck   bool // leases cannot be renewed
	// unread is what the next view fails with.
	unread error
	// gate, if not nil, is what a reopening waits for.
	gate    chan struct{}
	reopens int
	written int
}

var errDisk = errors.New("input/output error")

func (f *faulty) Commit(b *kv.Batch) kv.Pending {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.broken:
		return lost{kv.ErrStoreBroken}
	case f.full:
		return lost{kv.ErrNoSpace}
	}
	f.written++
	if f.breakAt--; f.breakAt != 0 {
		return f.Store.Commit(b)
	}
	f.broken = true
	if f.landed {
		_ = f.Store.Commit(b).Wait(context.Background())
	}
	return lost{kv.ErrStoreBroken}
}

func (f *faulty) View(g func(kv.View) error) error {
	f.mu.Lock()
	broken, unread := f.broken, f.unread
	f.unread = nil
	f.mu.Unlock()
	if unread != nil {
		return unread
	}
	if broken {
		return kv.ErrStoreBroken
	}
	return f.Store.View(g)
}

func (f *faulty) Health() kv.Health {
	f.mu.Lock()
	defer f.mu.Unlock()
	h := f.Store.Health()
	switch {
	case f.broken:
		h.Condition, h.Reason = kv.Broken, "it was broken"
	case f.held != "":
		h.Condition, h.Reason = kv.Held, f.held
	case f.full:
		h.Condition, h.Reason = kv.Full, "there is no space"
	}
	return h
}

func (f *faulty) Reopen(ctx context.Context) error {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reopens++
	f.broken = false
	return nil
}

// Lease gives a short one that cannot be prolonged, if the store is stuck.
func (f *faulty) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
	l, err := f.Store.Lease(ctx, name, owner, ttl)
	return stuckLease{l, f}, err
}

type stuckLease struct {
	kv.Lease
	store *faulty
}

func (l stuckLease) Renew(ctx context.Context, ttl time.Duration) error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.store.stuck {
		return errDisk
	}
	return l.Lease.Renew(ctx, ttl)
}

func (f *faulty) Exclusive() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.shared
}

// set changes the store under its lock.
func (f *faulty) set(change func(*faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// lost is a batch that failed.
type lost struct{ err error }

func (l lost) Wait(context.Context) error { return l.err }
func (l lost) Err() error                 { return l.err }
func (l lost) Number() uint64             { return 0 }

func (l lost) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// faults makes the bundle's engines use a faulty store from now on; it is
// that of the newest engine.
func (b *bundle) faults(change func(*faulty)) *faulty {
	b.t.Helper()
	var now *faulty
	b.wrap = func(s kv.Store) kv.Store {
		now = &faulty{Store: s}
		if change != nil {
			change(now)
		}
		return now
	}
	b.reopen()
	return now
}
