package kv

import (
	"errors"
	"testing"
	"testing/synctest"
)

// Seen red with the open snapshots ignored: a compaction would drop what an
// open view still reads.
func TestNothingThatAnOpenViewNeedsIsDropped(t *testing.T) {
	t.Parallel()
	var dropped uint64
	s := newSnapshots(7, func(number uint64) { dropped = number })
	want := func(number uint64) {
		t.Helper()
		if dropped != number {
			t.Errorf("dropped up to %d, want %d", dropped, number)
		}
	}
	want(7)
	first, _ := s.begin()
	s.advance(8)
	want(7)
	second, _ := s.begin()
	third, _ := s.begin()
	s.end(first)
	s.advance(9)
	want(8)
	s.end(second)
	s.advance(10)
	want(8)
	s.end(third)
	s.advance(11)
	want(11)
}

// Seen red without the waiting: Badger unmaps the tables that the view reads.
func TestCloseWaitsForViews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSnapshots(1, func(uint64) {})
		number, err := s.begin()
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan struct{})
		go func() { s.close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed although a view is open")
		default:
		}
		if _, err := s.begin(); !errors.Is(err, ErrClosed) {
			t.Errorf("a view begins although the store is closing: %v", err)
		}
		s.end(number)
		<-closed
	})
}

// A compaction drops the tombstones of the last commit, which are all that
// Badger has of it.
//
// Seen red without the marker.
func TestNumbersAreNotUsedTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	number := func(change func(*badgerStore)) uint64 {
		store, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := store.(*badgerStore)
		change(s)
		number := s.life.Load().snapshots.last()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return number
	}
	var want uint64
	// Each round leaves a table, until there are enough to be compacted.
	for range 8 {
		want = number(func(s *badgerStore) {
			remove := &Batch{Changes: []Change{{Key: []byte("k"), Delete: true}}}
			for _, b := range []*Batch{set("k", "v"), remove} {
				if err := s.Commit(b).Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	number(func(s *badgerStore) {
		if err := s.life.Load().db.Flatten(1); err != nil {
			t.Fatal(err)
		}
	})
	if got := number(func(*badgerStore) {}); got != want {
		t.Errorf("after a compaction the last commit is %d, it was %d", got, want)
	}
}
