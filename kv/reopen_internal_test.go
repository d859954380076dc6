package kv

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dgraph-io/badger/v4"
)

var errDisk = errors.New("input/output error")

// failing opens a store whose commits are answered by fail: a nil answer is a
// success. Whether Badger has made the one that fails, or has not seen it, says
// made.
func failing(t *testing.T, dir string, made bool, fail func(number uint64) error) *badgerStore {
	t.Helper()
	store, err := Open(dir, &Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	s := store.(*badgerStore)
	real := s.committer.commit
	s.committer.commit = func(txn *badger.Txn, number uint64) error {
		err := fail(number)
		if err == nil || made {
			err = errors.Join(real(txn, number), err)
		}
		return err
	}
	return s
}

// At each number the sync fails although the commit is there, or the commit is
// not there: the writer is told that the store is broken, reopens it, and finds
// the commit or not, for good. Whatever it writes next has a number of its own.
//
// Seen red with the numbers going on behind the last durable one: the second
// commit got the number of the lost one.
func TestLostAcknowledgementIsSettledByReopening(t *testing.T) {
	t.Parallel()
	t.Run("made", func(t *testing.T) { t.Parallel(); loseAcknowledgements(t, true) })
	t.Run("not made", func(t *testing.T) { t.Parallel(); loseAcknowledgements(t, false) })
}

func loseAcknowledgements(t *testing.T, made bool) {
	dir := t.TempDir()
	broken := true
	s := failing(t, dir, made, func(uint64) error {
		if broken = !broken; broken {
			return errDisk
		}
		return nil
	})
	watched := make(chan struct{}, 1)
	defer s.Watch([]byte("lost"), watched)()
	held, err := s.Lease(t.Context(), []byte("run"), "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for round := range 4 {
		p := s.Commit(set("kept", "v"))
		if err := p.Wait(t.Context()); err != nil || p.Number() <= last {
			t.Fatalf("round %d: commit %d behind %d, %v", round, p.Number(), last, err)
		}
		last = p.Number() + 1
		if err := s.Commit(set("lost", "v")).Wait(t.Context()); !errors.Is(err, ErrStoreBroken) || !errors.Is(err, errDisk) {
			t.Fatalf("got %v", err)
		}
		if h := s.Health(); h.Condition != Broken || h.Reason == "" {
			t.Errorf("health of a broken store: %+v", h)
		}
		if _, err := s.Lease(t.Context(), []byte("other"), "me", time.Hour); !errors.Is(err, ErrStoreBroken) {
			t.Errorf("lease of a broken store: %v", err)
		}
		for range 2 { // the second time there is nothing to do
			if err := s.Reopen(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if h := s.Health(); h.Condition != Healthy || h.Reason != "" {
			t.Errorf("health of the reopened store: %+v", h)
		}
		<-watched // what failed may be there
		_, first := value(t, s, "lost")
		if made != (first == nil) {
			t.Errorf("got %v", first)
		}
		for range 3 {
			if _, again := value(t, s, "lost"); !errors.Is(again, first) {
				t.Errorf("first %v, then %v", first, again)
			}
		}
		if got, err := value(t, s, "kept"); got != "v" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := held.Renew(t.Context(), time.Hour); err != nil {
		t.Errorf("the lease did not survive: %v", err)
	}
	if _, err := Open(dir, nil); !errors.Is(err, ErrStoreLocked) {
		t.Errorf("the lock did not survive: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Reopen(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("reopening a closed store: %v", err)
	}
}

// A batch that was queued when the store broke has failed, even if nobody has
// come round to telling it before the store is whole again.
//
// Seen red with batches that belong to no life: it landed.
func TestNothingQueuedLandsAfterReopening(t *testing.T) {
	t.Parallel()
	s := failing(t, t.TempDir(), true, func(uint64) error { return nil })
	defer s.Close()
	queued := s.Commit(set("queued", "v"))
	_ = s.life.Load().poison(errDisk) // as a reader does
	if err := s.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	later := s.Commit(set("later", "v"))
	if err := later.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	<-queued.Done()
	if err := queued.Err(); !errors.Is(err, ErrStoreBroken) || !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if _, err := value(t, s, "queued"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// Badger unmaps what a view reads when it is closed.
//
// Seen red without waiting for views.
func TestReopeningWaitsForViewsAsLongAsItMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := failing(t, dir, true, func(uint64) error { return nil })
		if err := s.Commit(set("k", "v")).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		leave, left := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(left)
			_ = s.View(func(v View) error {
				<-leave
				if _, err := v.Get([]byte("k")); !errors.Is(err, ErrStoreBroken) {
					t.Errorf("a view of the broken life got %v", err)
				}
				return nil
			})
		}()
		synctest.Wait()
		_ = s.life.Load().poison(errDisk)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Reopen(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := value(t, s, "k"); !errors.Is(err, ErrStoreBroken) {
			t.Errorf("not reopened yet, but a view got %v", err)
		}
		reopened := make(chan error)
		go func() { reopened <- s.Reopen(t.Context()) }()
		synctest.Wait()
		select {
		case err := <-reopened:
			t.Errorf("reopened under a view: %v", err)
		default:
		}
		close(leave)
		if err := <-reopened; err != nil {
			t.Error(err)
		}
		<-left
		if got, err := value(t, s, "k"); got != "v" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Many who find the store broken reopen it at once, while others read, write
// and close it: everybody gets an answer that the contract knows.
func TestReopeningAndClosingAtOnce(t *testing.T) {
	t.Parallel()
	for range 4 {
		s := failing(t, t.TempDir(), true, func(number uint64) error {
			if number%3 == 0 {
				return errDisk
			}
			return nil
		})
		known := func(what string, err error) {
			if err != nil && !errors.Is(err, ErrStoreBroken) && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for range 10 {
					known("commit", s.Commit(urgent(set("k", "v"))).Wait(t.Context()))
					_, err := value(t, s, "k")
					known("view", err)
					known("reopen", s.Reopen(t.Context()))
				}
			})
		}
		group.Go(func() { known("close", s.Close()) })
		group.Wait()
		if err := s.Close(); !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}

// A watcher that is told looks, and finds.
//
// Seen red with watchers told before the commit.
func TestWatchersAreToldAfterTheSync(t *testing.T) {
	t.Parallel()
	s, x := openWithSeam(t, t.TempDir())
	defer s.Close()
	mine, other, all := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	stop := s.Watch([]byte("a/"), mine)
	defer s.Watch([]byte("b/"), other)()
	defer s.Watch(nil, all)()
	told := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	write := func(answer error, batches ...*Batch) {
		t.Helper()
		var last Pending
		for _, b := range batches {
			last = s.Commit(b)
		}
		s.committer.hurry(last.(*pending))
		<-x.reached
		if told(mine) || told(other) || told(all) {
			t.Error("told before the sync")
		}
		x.answer <- answer
		<-last.Done()
	}
	write(nil, set("a/1", "v"), set("a/2", "v"))
	if !told(mine) || told(mine) || told(other) || !told(all) {
		t.Error("want one value for two changes, for those whose prefix it is")
	}
	lost := set("b/1", "v")
	lost.Require([]byte("absent"), []byte("v"))
	write(nil, lost, set("a/3", "v"))
	if !told(mine) || told(other) || !told(all) {
		t.Error("told of a batch that failed")
	}
	stop()
	stop()
	write(nil, set("a/4", "v"))
	if told(mine) || !told(all) {
		t.Error("told after the end")
	}
	write(errDisk, set("a/5", "v"))
	if told(all) {
		t.Error("told of a commit that failed")
	}
}
