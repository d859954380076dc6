package kvtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

const long = time.Hour

// soon is a time that passes during a rule: in a moment, if it really has to.
func (b *bundle) soon() time.Duration {
	if b.config.Pass == nil {
		return 200 * time.Millisecond
	}
	return long
}

// pass lets time pass for the store.
func (b *bundle) pass(d time.Duration) {
	b.Helper()
	if b.config.Pass == nil {
		time.Sleep(d)
		return
	}
	b.config.Pass(b.TB, b.store, d)
}

// lease takes a name for owner.
func (b *bundle) lease(s kv.Store, name, owner string, ttl time.Duration) kv.Lease {
	b.Helper()
	l, err := s.Lease(b.Context(), []byte(name), owner, ttl)
	if err != nil {
		b.Fatalf("lease of %q to %s: %v", name, owner, err)
	}
	return l
}

// refused expects that owner has a name, so that somebody else does not get it.
func (b *bundle) refused(s kv.Store, name, owner string) {
	b.Helper()
	_, err := s.Lease(b.Context(), []byte(name), "not "+owner, long)
	var by *kv.LeasedError
	if !errors.Is(err, kv.ErrLeased) || !errors.As(err, &by) || by.Owner != owner || string(by.Name) != name {
		b.Fatalf("got %v, want a LeasedError about %q and %s", err, name, owner)
	}
}

func (b *bundle) lost(l kv.Lease) {
	b.Helper()
	if err := l.Renew(b.Context(), long); !errors.Is(err, kv.ErrLeaseLost) {
		b.Errorf("renew: got %v, want %v", err, kv.ErrLeaseLost)
	}
}

func (b *bundle) release(l kv.Lease) {
	b.Helper()
	if err := l.Release(b.Context()); err != nil {
		b.Errorf("release: %v", err)
	}
}

func (b *bundle) renew(l kv.Lease, ttl time.Duration) {
	b.Helper()
	if err := l.Renew(b.Context(), ttl); err != nil {
		b.Errorf("renew: %v", err)
	}
}

var leaseRules = []rule{
	{"a lease is one owner's", func(b *bundle) {
		for _, name := range []string{"", "a", "aa", "\x00", "a\xff"} {
			b.lease(b.store, name, "anna of "+name, long)
		}
		for _, name := range []string{"", "a", "aa", "\x00", "a\xff"} {
			b.refused(b.store, name, "anna of "+name)
		}
	}},
	{"an owner can take its name again", func(b *bundle) {
		first := b.lease(b.store, "n", "anna", long)
		second := b.lease(b.store, "n", "anna", long)
		b.refused(b.store, "n", "anna")
		b.renew(first, long)
		b.renew(second, long)
	}},
	{"until is not later than it can be", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", long)
		if until := l.Until(); !until.IsZero() && (until.After(time.Now().Add(long)) || until.Before(time.Now())) {
			b.Errorf("until %s, it is %s", until, time.Now())
		}
		b.renew(l, 3*long)
		if until := l.Until(); !until.IsZero() && (until.After(time.Now().Add(3*long)) || until.Before(time.Now().Add(2*long))) {
			b.Errorf("renewed until %s, it is %s", until, time.Now())
		}
	}},
	{"a released name is free", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", long)
		b.release(l)
		b.lease(b.store, "n", "ben", long)
		b.lost(l)
		b.release(l)
		b.refused(b.store, "n", "ben")
	}},
	{"a lease is over when its time is", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", b.soon())
		b.pass(2 * b.soon())
		if until := l.Until(); until.After(time.Now()) {
			b.Errorf("until %s, it is %s", until, time.Now())
		}
		b.lease(b.store, "n", "ben", long)
		b.lost(l)
		b.release(l)
		b.refused(b.store, "n", "ben")
	}},
	{"a lease that is over and that nobody took can be renewed", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", b.soon())
		b.pass(2 * b.soon())
		b.renew(l, long)
		b.refused(b.store, "n", "anna")
	}},
	{"a renewed lease lasts longer", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", b.soon())
		b.renew(l, 10*long)
		b.pass(2 * b.soon())
		b.refused(b.store, "n", "anna")
	}},
	{"a lost lease stays lost", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", b.soon())
		b.pass(2 * b.soon())
		b.release(b.lease(b.store, "n", "ben", long))
		b.lost(l)
		again := b.lease(b.store, "n", "anna", long)
		b.lost(l)
		b.release(l)
		b.refused(b.store, "n", "anna")
		b.renew(again, long)
	}},
	{"of many who want a name one gets it", func(b *bundle) {
		const names, owners = 20, 8
		var got [names]atomic.Int32
		b.all(owners, func(i int) error {
			for n := range names {
				_, err := b.store.Lease(b.Context(), fmt.Append(nil, n), fmt.Sprint("owner ", i), long)
				switch {
				case err == nil:
					got[n].Add(1)
				case !errors.Is(err, kv.ErrLeased):
					return err
				}
			}
			return nil
		})
		for n := range got {
			if owners := got[n].Load(); owners != 1 {
				b.Errorf("name %d has %d owners", n, owners)
			}
		}
	}},
	{"leases end with the process if they live in it", func(b *bundle) {
		b.lease(b.store, "n", "anna", long)
		exclusive := b.store.Exclusive()
		b.reopen()
		if exclusive {
			b.lease(b.store, "n", "ben", long)
		} else {
			b.refused(b.store, "n", "anna")
		}
	}},
	{"a closed store leases nothing", func(b *bundle) {
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		if _, err := b.store.Lease(context.Background(), []byte("m"), "anna", long); !errors.Is(err, kv.ErrClosed) {
			b.Errorf("got %v", err)
		}
	}},
}
