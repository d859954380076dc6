package kv

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// seam stands between the committer and Badger: each commit is announced on
// reached when Badger has applied it, and returns what answer says.
type seam struct {
	reached chan uint64
	answer  chan error
}

func openWithSeam(t *testing.T, dir string) (*badgerStore, seam) {
	t.Helper()
	store, err := Open(dir, &Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := store.(*badgerStore)
	x := seam{reached: make(chan uint64), answer: make(chan error)}
	real := s.committer.commit
	// The committer reads the field only when there is something to commit.
	s.committer.commit = func(txn *badger.Txn, number uint64) error {
		if err := real(txn, number); err != nil {
			return err
		}
		x.reached <- number
		return <-x.answer
	}
	return s, x
}

// answerEverything lets commits that must not come succeed, so that the test
// sees them instead of waiting for ever.
func answerEverything(t *testing.T, x seam) {
	t.Helper()
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	go func() {
		for {
			select {
			case number := <-x.reached:
				t.Errorf("commit %d after one that failed", number)
				x.answer <- nil
			case <-ended:
				return
			}
		}
	}()
}

func set(key, value string) *Batch {
	b := &Batch{}
	b.Set([]byte(key), []byte(value))
	return b
}

func urgent(b *Batch) *Batch {
	b.Urgent = true
	return b
}

func value(t *testing.T, s Store, key string) (got string, err error) {
	t.Helper()
	err = s.View(func(v View) error {
		b, err := v.Get([]byte(key))
		got = string(b)
		return err
	})
	return got, err
}

// Seen red with views at Badger's newest version.
func TestViewShowsOnlyWhatIsDurable(t *testing.T) {
	t.Parallel()
	s, x := openWithSeam(t, t.TempDir())
	defer s.Close()
	p := s.Commit(urgent(set("k", "v")))
	<-x.reached
	if got, err := value(t, s, "k"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before the sync returned: got %q, %v", got, err)
	}
	x.answer <- nil
	<-p.Done()
	if got, err := value(t, s, "k"); got != "v" {
		t.Errorf("after it: got %q, %v", got, err)
	}
}

// Seen red with Wait hurrying whatever is queued.
func TestWaitingForABatchOnItsWayHurriesNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, x := openWithSeam(t, dir)
		first := s.Commit(urgent(set("a", "")))
		<-x.reached
		second := s.Commit(set("b", ""))
		go func() { _ = first.Wait(t.Context()) }()
		synctest.Wait()
		x.answer <- nil
		go func() {
			for range x.reached {
				x.answer <- nil
			}
		}()
		synctest.Wait()
		if err := first.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		third := s.Commit(urgent(set("c", "")))
		<-third.Done()
		if first.Number() != 1 || second.Number() != 2 || third.Number() != 2 {
			t.Errorf("got commits %d, %d, %d", first.Number(), second.Number(), third.Number())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		close(x.reached)
	})
}

// Badger has applied the commit and the sync failed: the keys are visible to
// Badger's own readers, and nothing is known about the disk.
//
// Seen red with the error told to the batch alone.
func TestFailedCommitPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, x := openWithSeam(t, dir)
	before := s.Commit(urgent(set("before", "x")))
	<-x.reached
	x.answer <- nil
	<-before.Done()

	cause := errors.New("input/output error")
	lost := set("lost", "x")
	lost.Require([]byte("absent"), []byte("x"))
	merged := []Pending{s.Commit(set("k", "v")), s.Commit(lost), s.Commit(urgent(set("l", "v")))}
	<-x.reached
	queued := []Pending{s.Commit(set("m", "v")), s.Commit(urgent(set("n", "v")))}
	err := s.View(func(v View) error {
		x.answer <- cause
		answerEverything(t, x)
		for _, p := range append(merged, queued...) {
			<-p.Done()
			if err := p.Err(); !errors.Is(err, ErrStoreBroken) || !errors.Is(err, cause) {
				t.Errorf("pending batch: got %v", err)
			}
		}
		if _, err := v.Get([]byte("before")); !errors.Is(err, ErrStoreBroken) {
			t.Errorf("read in a view from before: got %v", err)
		}
		for _, err := range v.Scan(Range{}) {
			if !errors.Is(err, ErrStoreBroken) {
				t.Errorf("scan in a view from before: got %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	later := s.Commit(set("o", "v"))
	if err := later.Wait(t.Context()); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("later batch: got %v", err)
	}
	err = s.View(func(View) error { t.Error("a view of a broken store"); return nil })
	if !errors.Is(err, ErrStoreBroken) {
		t.Errorf("view that reads nothing: got %v", err)
	}
	for _, key := range []string{"before", "k"} {
		if got, err := value(t, s, key); !errors.Is(err, ErrStoreBroken) {
			t.Errorf("view of %s: got %q, %v", key, got, err)
		}
	}
	if err := s.Close(); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("close: got %v", err)
	}
	if err := s.View(func(View) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("view of the closed store: got %v", err)
	}
	reopened(t, dir)
}

// reopened expects the store to be usable again, with all of the merged
// batches or none.
func reopened(t *testing.T, dir string) {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, err := value(t, s, "before"); got != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	_, first := value(t, s, "k")
	_, second := value(t, s, "l")
	if (first == nil) != (second == nil) {
		t.Errorf("half of a commit: %v, %v", first, second)
	}
	for _, key := range []string{"lost", "m", "n", "o"} {
		if got, err := value(t, s, key); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %q, %v", key, got, err)
		}
	}
}

// Seen red without the guard: Badger's panic ended the test.
func TestPanicOfBadgerPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	s, _ := openWithSeam(t, t.TempDir())
	s.committer.commit = func(*badger.Txn, uint64) error { panic("no memtable") }
	if err := s.Commit(set("k", "v")).Wait(t.Context()); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("close: got %v", err)
	}
}

// Badger's iterators panic once it is closed. Seen red without the guard.
func TestPanicOfAReadPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	s, _ := openWithSeam(t, t.TempDir())
	err := s.View(func(v View) error {
		if err := s.life.Load().db.Close(); err != nil {
			t.Error(err)
		}
		for _, err := range v.Scan(Range{}) {
			return err
		}
		return nil
	})
	if !errors.Is(err, ErrStoreBroken) {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("close: got %v", err)
	}
}

// Whether the requirement held is not known, and the batches behind count on
// this one: nothing of the merge may land, nor anything later.
//
// Seen red with the error told to the batch alone: those behind it landed.
func TestUnreadableRequirementPoisonsTheHandle(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		require func(*Batch, []byte)
	}{
		{"value", func(b *Batch, key []byte) { b.Require(key, []byte("v")) }},
		{"absence", func(b *Batch, key []byte) { b.RequireAbsent(key) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, x := openWithSeam(t, dir)
			go func() {
				for range x.reached {
					x.answer <- nil
				}
			}()
			defer close(x.reached)
			damage(t, s, "bad", func(stored []byte) []byte { return stored[:3] })
			unreadable := set("k", "v")
			row.require(unreadable, []byte("bad"))
			failed := set("f", "v")
			failed.Require([]byte("absent"), []byte("v"))
			batches := []Pending{s.Commit(set("j", "v")), s.Commit(failed), s.Commit(unreadable), s.Commit(set("l", "v"))}
			for i := len(batches) - 1; i >= 0; i-- {
				if err := batches[i].Wait(t.Context()); !errors.Is(err, ErrStoreBroken) || !errors.Is(err, ErrCorrupt) {
					t.Errorf("batch %d: got %v", i, err)
				}
			}
			if err := s.Commit(set("m", "v")).Wait(t.Context()); !errors.Is(err, ErrStoreBroken) {
				t.Errorf("later batch: got %v", err)
			}
			if err := s.Close(); !errors.Is(err, ErrStoreBroken) {
				t.Errorf("close: got %v", err)
			}
			again, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for _, key := range []string{"f", "j", "k", "l", "m"} {
				if _, err := value(t, again, key); !errors.Is(err, ErrNotFound) {
					t.Errorf("%s: got %v", key, err)
				}
			}
		})
	}
}

// damage stores a record for key that change has spoilt, behind the store's
// back.
func damage(t *testing.T, s *badgerStore, key string, change func([]byte) []byte) {
	t.Helper()
	l := s.life.Load()
	number := l.snapshots.last() + 1
	txn := l.db.NewTransactionAt(number, true)
	defer txn.Discard()
	stored := change(sealRecord([]byte(key), []byte("value of "+key), 0))
	if err := txn.Set(userKey([]byte(key)), stored); err != nil {
		t.Fatal(err)
	}
	if err := txn.CommitAt(number, nil); err != nil {
		t.Fatal(err)
	}
	l.snapshots.advance(number)
}
