package kv_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

func batch(key, value string) *kv.Batch {
	b := &kv.Batch{}
	b.Set([]byte(key), []byte(value))
	return b
}

func done(p kv.Pending) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// Seen red with Commit hurrying every batch.
func TestBatchLingersForItsTime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		opts *kv.Options
		want time.Duration
	}{
		"default": {nil, 5 * time.Millisecond},
		"longer":  {&kv.Options{Linger: 20 * time.Second}, 20 * time.Second}, // Badger ticks all the while
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				store := open(t, dir, row.opts)
				first := store.Commit(batch("a", "1"))
				time.Sleep(row.want / 2)
				second := store.Commit(batch("b", "1"))
				time.Sleep(row.want/2 - 1)
				synctest.Wait()
				if done(first) || done(second) {
					t.Error("written before the linger was over")
				}
				time.Sleep(time.Nanosecond)
				<-first.Done()
				<-second.Done()
				if first.Number() != 1 || second.Number() != 1 {
					t.Errorf("written in commits %d and %d, want one", first.Number(), second.Number())
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestBatchesShareCommits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		write func(t *testing.T, store kv.Store) []kv.Pending
		want  []uint64
	}{
		"nobody waits until the third": {func(t *testing.T, s kv.Store) []kv.Pending {
			all := []kv.Pending{s.Commit(batch("a", "")), s.Commit(batch("b", "")), s.Commit(batch("c", ""))}
			wait(t, all[2])
			return all
		}, []uint64{1, 1, 1}},
		"the third is urgent": {func(t *testing.T, s kv.Store) []kv.Pending {
			all := []kv.Pending{s.Commit(batch("a", "")), s.Commit(batch("b", ""))}
			urgent := batch("c", "")
			urgent.Urgent = true
			return append(all, s.Commit(urgent))
		}, []uint64{1, 1, 1}},
		"each is waited for": {func(t *testing.T, s kv.Store) (all []kv.Pending) {
			for range 3 {
				p := s.Commit(batch("a", ""))
				wait(t, p)
				all = append(all, p)
			}
			return all
		}, []uint64{1, 2, 3}},
		"the second is waited for twice": {func(t *testing.T, s kv.Store) []kv.Pending {
			all := []kv.Pending{s.Commit(batch("a", "")), s.Commit(batch("b", ""))}
			wait(t, all[1])
			third := s.Commit(batch("c", ""))
			wait(t, all[1])
			wait(t, all[0])
			fourth := s.Commit(batch("d", ""))
			wait(t, fourth)
			return append(all, third, fourth)
		}, []uint64{1, 1, 2, 2}},
		"a failed one needs no commit of its own": {func(t *testing.T, s kv.Store) []kv.Pending {
			lost := batch("a", "")
			lost.Require([]byte("absent"), []byte("x"))
			_ = s.Commit(lost).Wait(t.Context())
			empty := s.Commit(&kv.Batch{})
			wait(t, empty)
			return []kv.Pending{empty, s.Commit(batch("b", "")), s.Commit(batch("c", ""))}
		}, []uint64{0, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, t.TempDir(), &kv.Options{Linger: time.Hour})
			all := row.write(t, store)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			for i, p := range all {
				<-p.Done()
				if err := p.Err(); err != nil || p.Number() != row.want[i] {
					t.Errorf("batch %d: commit %d, %v; want commit %d", i, p.Number(), err, row.want[i])
				}
			}
		})
	}
}

func wait(t *testing.T, p kv.Pending) {
	t.Helper()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestNumbersGoOnAfterReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want := uint64(1); want < 6; want++ {
		store := open(t, dir, nil)
		p := store.Commit(batch("a", "x"))
		if want%2 == 0 {
			remove := &kv.Batch{}
			remove.Delete([]byte("a"))
			p = store.Commit(remove)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if got := p.Number(); got != want {
			t.Errorf("opened for the %dth time: commit %d", want, got)
		}
	}
}
