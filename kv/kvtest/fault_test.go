package kvtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
)

func open(t *testing.T, d *kvtest.Disk) kv.Store {
	t.Helper()
	s, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func set(key, value string) *kv.Batch {
	b := &kv.Batch{}
	b.Set([]byte(key), []byte(value))
	return b
}

func must(t *testing.T, p kv.Pending) {
	t.Helper()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func fails(t *testing.T, p kv.Pending, want error) {
	t.Helper()
	if err := p.Wait(t.Context()); !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
}

func get(s kv.Store, key string) (value string, err error) {
	err = s.View(func(v kv.View) error {
		got, err := v.Get([]byte(key))
		value = string(got)
		return err
	})
	return value, err
}

func keys(t *testing.T, s kv.Store) (keys []string) {
	t.Helper()
	if err := s.View(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{}) {
			if err != nil {
				return err
			}
			keys = append(keys, string(item.Key))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// Seen red with commits on the time of whoever waits.
func TestSlowSyncHoldsUpNobodyWhoDoesNotWait(t *testing.T) {
	t.Parallel()
	d := kvtest.NewDisk(nil)
	s := open(t, d)
	reached, release := make(chan struct{}), make(chan struct{})
	d.At(1, kvtest.Written, func() error {
		close(reached)
		<-release
		return nil
	})
	urgent := set("k", "1")
	urgent.Urgent = true
	p := s.Commit(urgent)
	<-reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if _, err := get(s, "k"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("a view meanwhile: %v", err)
	}
	next := s.Commit(set("l", "1"))
	close(release)
	must(t, next)
	must(t, p)
}

// A cut in a commit leaves any number of its batches, and no more is told.
//
// Seen red with a commit that goes on after the cut.
func TestCutWithinACommit(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		moment kvtest.Moment
		want   []string // what may be there
	}{
		{"before it", kvtest.Asked, []string{"[]", "[a]", "[a b]"}},
		{"in its sync", kvtest.Written, []string{"[]", "[a]", "[a b]"}},
		{"behind its sync", kvtest.Synced, []string{"[a b]"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			seen := map[string]bool{}
			for seed := range uint64(40) {
				d := kvtest.NewDisk(&kvtest.DiskOptions{Seed: seed})
				s := open(t, d)
				d.At(1, row.moment, func() error { d.Cut(); return nil })
				s.Commit(set("a", "1"))
				fails(t, s.Commit(set("b", "1")), kv.ErrStoreBroken)
				seen[fmt.Sprint(keys(t, open(t, d)))] = true
			}
			if len(seen) != len(row.want) || slices.ContainsFunc(row.want, func(w string) bool { return !seen[w] }) {
				t.Errorf("seen %v, want %v", seen, row.want)
			}
		})
	}
}

// Seen red with survivors drawn from a source without the seed.
func TestSameSeedSameDisk(t *testing.T) {
	t.Parallel()
	history := func(seed uint64) (all string) {
		d := kvtest.NewDisk(&kvtest.DiskOptions{Seed: seed})
		for life := range 10 {
			s := open(t, d)
			for i := range 5 {
				s.Commit(set(fmt.Sprint(life, "/", i), "x"))
			}
			d.Cut()
			all += fmt.Sprintln(keys(t, open(t, d)))
			d.Cut()
		}
		return all
	}
	if first, again := history(1), history(1); first != again {
		t.Error("the same seed gave two histories")
	}
	if history(1) == history(2) {
		t.Error("two seeds gave the same history")
	}
}

// Between the moment in which a store decides to write and its look at the
// requirements another store can be quicker.
//
// Seen red with requirements looked at before the plan.
func TestRequirementRace(t *testing.T) {
	t.Parallel()
	d := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true})
	slow, quick := open(t, d), open(t, d)
	c := kv.NewChain(slow, []byte("run/"))
	must(t, c.Append([]byte("1"), nil))
	other := kv.OpenChain(quick, []byte("run/"), c.Head())
	d.At(1, kvtest.Asked, func() error { return other.Append([]byte("2"), nil).Wait(t.Context()) })
	fails(t, c.Append([]byte("late"), nil), kv.ErrRequirement)
	if err := slow.View(func(v kv.View) error {
		_, head, err := kv.ReadChain(v, []byte("run/"))
		if head != other.Head() {
			t.Errorf("head %v, want %v", head, other.Head())
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

func TestReadFailsOnce(t *testing.T) {
	t.Parallel()
	d := kvtest.NewDisk(nil)
	s := open(t, d)
	must(t, s.Commit(set("a/1", "1")))
	d.FailRead([]byte("a/"), errDisk)
	if _, err := get(s, "b"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("another key: %v", err)
	}
	if _, err := get(s, "a/1"); !errors.Is(err, errDisk) {
		t.Errorf("the key: %v", err)
	}
	if got, err := get(s, "a/1"); got != "1" {
		t.Errorf("once more: %q, %v", got, err)
	}
	d.FailRead([]byte("a/"), errDisk)
	b := set("c", "1")
	b.Require([]byte("a/1"), []byte("1"))
	fails(t, s.Commit(b), kv.ErrStoreBroken) // nobody knows whether it held
	if err := s.Reopen(t.Context()); err != nil {
		t.Error(err)
	}
	if got := keys(t, s); len(got) != 1 {
		t.Errorf("there is %q", got)
	}
}

// One of two processes dies: its leases end with their time, the other goes on.
func TestKilledStore(t *testing.T) {
	t.Parallel()
	d := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true})
	dead, alive := open(t, d), open(t, d)
	if _, err := dead.Lease(t.Context(), []byte("n"), "dead", 10); err != nil {
		t.Fatal(err)
	}
	must(t, dead.Commit(set("told", "1")))
	lost := dead.Commit(set("lost", "1"))
	d.Kill(dead)
	fails(t, lost, kv.ErrStoreBroken)
	if got := keys(t, alive); !slices.Equal(got, []string{"told"}) {
		t.Errorf("there is %q", got)
	}
	must(t, alive.Commit(set("more", "1")))
	if _, err := alive.Lease(t.Context(), []byte("n"), "alive", 10); !errors.Is(err, kv.ErrLeased) {
		t.Errorf("the lease of the dead: %v", err)
	}
	d.Pass(10)
	if _, err := alive.Lease(t.Context(), []byte("n"), "alive", 10); err != nil {
		t.Error(err)
	}
}

func TestDiskThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	d := kvtest.NewDisk(nil)
	s := open(t, d)
	if _, err := d.Open(); !errors.Is(err, kv.ErrStoreLocked) {
		t.Errorf("twice: %v", err)
	}
	d.At(1, kvtest.Synced, func() error { return errDisk })
	fails(t, s.Commit(set("k", "1")), kv.ErrStoreBroken)
	d.FailOpen(errDisk)
	for range 2 {
		if err := s.Reopen(t.Context()); !errors.Is(err, errDisk) {
			t.Errorf("reopen: %v", err)
		}
	}
	if s.Health().Condition != kv.Broken {
		t.Errorf("health: %+v", s.Health())
	}
	d.FailOpen(nil)
	if err := s.Reopen(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := get(s, "k"); got != "1" || err != nil { // its acknowledgement was lost
		t.Errorf("got %q, %v", got, err)
	}
}
