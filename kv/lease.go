package kv

import (
	"context"
	"sync"
	"time"
)

// leases are those of an exclusive store: nobody outside the process can want
// one, so they live in memory. They keep owners within the process apart, also
// when one of them stalls longer than its lease.
type leases struct {
	// mu guards what follows.
	mu    sync.Mutex
	taken map[string]*tenure
}

// tenure is the time that one owner has a name, from taking it to its release
// or until another one takes it. It outlasts the lease until then: who comes
// late but before everybody else can still renew.
type tenure struct {
	owner string
	until time.Time
}

func newLeases() *leases { return &leases{taken: map[string]*tenure{}} }

// Lease implements [Store].
func (s *badgerStore) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (Lease, error) {
	if s.closing.Load() {
		return nil, ErrClosed
	}
	if err := s.life.Load().health(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.leases.take(string(name), owner, ttl)
}

func (l *leases) take(name, owner string, ttl time.Duration) (Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now() // with the monotonic clock, by which ttl is counted
	t := l.taken[name]
	if t != nil && t.owner != owner && now.Before(t.until) {
		return nil, &LeasedError{Name: []byte(name), Owner: t.owner}
	}
	if t == nil || t.owner != owner {
		t = &tenure{owner: owner}
		l.taken[name] = t
	}
	t.until = now.Add(ttl)
	return &lease{leases: l, name: name, tenure: t}, nil
}

// lease is the [Lease] of a tenure.
type lease struct {
	leases *leases
	name   string
	tenure *tenure
}

// Until implements [Lease].
func (l *lease) Until() time.Time {
	l.leases.mu.Lock()
	defer l.leases.mu.Unlock()
	return l.tenure.until
}

// Renew implements [Lease].
func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.leases.mu.Lock()
	defer l.leases.mu.Unlock()
	if l.leases.taken[l.name] != l.tenure {
		return ErrLeaseLost
	}
	l.tenure.until = time.Now().Add(ttl)
	return nil
}

// Release implements [Lease].
func (l *lease) Release(context.Context) error {
	l.leases.mu.Lock()
	defer l.leases.mu.Unlock()
	if l.leases.taken[l.name] == l.tenure {
		delete(l.leases.taken, l.name)
		l.tenure.until = time.Now() // it is over
	}
	return nil
}
