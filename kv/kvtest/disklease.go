package kvtest

import (
	"bytes"
	"context"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// lease is who has a name. It is guarded by Disk.mu.
type lease struct {
	owner   string
	term    uint64 // rises when another owner takes the name
	expires time.Time
}

// diskLease is the [kv.Lease] of an owner.
type diskLease struct {
	store *diskStore
	name  []byte
	owner string
	term  uint64
}

// Lease implements [kv.Store].
func (s *diskStore) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
	d := s.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := s.usableLocked(ctx); err != nil {
		return nil, err
	}
	l := d.leases[string(name)]
	switch {
	case l == nil:
		l = &lease{owner: owner, term: 1}
		d.leases[string(name)] = l
	case l.owner == owner && l.owner != "":
	case d.now.Before(l.expires):
		return nil, &kv.LeasedError{Name: bytes.Clone(name), Owner: l.owner}
	default:
		l.owner = owner
		l.term++
	}
	l.expires = d.now.Add(ttl)
	return &diskLease{store: s, name: bytes.Clone(name), owner: owner, term: l.term}, nil
}

func (s *diskStore) usableLocked(ctx context.Context) error {
	if err := s.healthLocked(); err != nil {
		return err
	}
	return ctx.Err()
}

// held returns the lease, or nil if it is lost. The caller holds mu.
func (l *diskLease) held() *lease {
	if now := l.store.disk.leases[string(l.name)]; now != nil && now.term == l.term {
		return now
	}
	return nil
}

// Until implements [kv.Lease]. It follows the disk's clock: a lease that has an
// hour left by that one is over in an hour by this process's.
func (l *diskLease) Until() time.Time {
	d := l.store.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if held := l.held(); held != nil {
		return now.Add(held.expires.Sub(d.now))
	}
	return now
}

// Renew implements [kv.Lease].
func (l *diskLease) Renew(ctx context.Context, ttl time.Duration) error {
	d := l.store.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := l.store.usableLocked(ctx); err != nil {
		return err
	}
	held := l.held()
	if held == nil {
		return kv.ErrLeaseLost
	}
	held.expires = d.now.Add(ttl)
	return nil
}

// Release implements [kv.Lease].
func (l *diskLease) Release(ctx context.Context) error {
	d := l.store.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := l.store.usableLocked(ctx); err != nil {
		return err
	}
	if held := l.held(); held != nil {
		held.owner, held.expires = "", d.now
		held.term++
	}
	return nil
}
