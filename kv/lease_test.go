package kv_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

func lease(t *testing.T, s kv.Store, owner string) (kv.Lease, error) {
	t.Helper()
	return s.Lease(t.Context(), []byte("run"), owner, time.Minute)
}

// An owner that stalls longer than its lease finds that another one has taken
// over, whatever it does then.
//
// Seen red with the owner's name compared instead of its tenure, and with
// leases that never end.
func TestStalledOwnerLosesItsLease(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, nil)
		defer s.Close()
		begun := time.Now()
		slow, err := lease(t, s, "slow")
		if err != nil || !slow.Until().Equal(begun.Add(time.Minute)) {
			t.Fatal(slow, err)
		}
		time.Sleep(time.Minute - 1)
		var taken *kv.LeasedError
		if _, err := lease(t, s, "fast"); !errors.Is(err, kv.ErrLeased) || !errors.As(err, &taken) || taken.Owner != "slow" || string(taken.Name) != "run" {
			t.Errorf("while it lasts: got %v", err)
		}
		time.Sleep(time.Nanosecond)
		fast, err := lease(t, s, "fast")
		if err != nil {
			t.Fatal(err)
		}
		lost := func(when string) {
			t.Helper()
			if err := slow.Renew(t.Context(), time.Hour); !errors.Is(err, kv.ErrLeaseLost) {
				t.Errorf("%s: renewing: got %v", when, err)
			}
		}
		lost("somebody else has it")
		if err := slow.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if err := fast.Renew(t.Context(), time.Minute); err != nil {
			t.Errorf("the release of a lost lease gave away another's: %v", err)
		}
		if err := fast.Release(t.Context()); err != nil {
			t.Error(err)
		}
		lost("somebody else had it")
		again, err := lease(t, s, "slow")
		if err != nil {
			t.Fatal(err)
		}
		lost("taken again meanwhile")
		if err := again.Renew(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
	})
}

func TestLateOwnerRenewsWhatNobodyTook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, dir, nil)
		defer s.Close()
		l, err := lease(t, s, "late")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if err := l.Renew(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
		if _, err := lease(t, s, "other"); !errors.Is(err, kv.ErrLeased) {
			t.Errorf("renewed, but another gets %v", err)
		}
		if _, err := lease(t, s, "late"); err != nil {
			t.Errorf("the owner takes it again: %v", err)
		}
	})
}

func TestLeaseAsksContextAndStore(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lease(ended, []byte("run"), "a", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := lease(t, s, "a"); !errors.Is(err, kv.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
