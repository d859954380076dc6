package disks_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/proof"
)

var errDisk = errors.New("input/output error")

// A commit fails, each of a run in turn and at each of its moments, so that what
// it wrote is there or not. The store is of no use to anybody from then on;
// nothing was sent whose intent is not durable, as a second client of the disk
// sees it; once the disk works again the engine opens the store anew, and the
// run has each effect once.
//
// Seen red with calls that are sent before their intents are durable.
func TestEachCommitFails(t *testing.T) {
	t.Parallel()
	for what, moment := range map[string]kvtest.Moment{"before it": kvtest.Asked, "in it": kvtest.Written, "behind it": kvtest.Synced} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for n := 1; commitFails(t, n, moment); n++ {
				failed++
			}
			if failed < effectsOfRun {
				t.Errorf("%d commits failed of a run with %d effects", failed, effectsOfRun)
			}
			t.Logf("%d commits failed", failed)
		})
	}
}

// commitFails has a run whose nth commit fails, and reports whether it had that
// many.
func commitFails(t *testing.T, n int, moment kvtest.Moment) bool {
	t.Helper()
	disk := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true, Seed: uint64(n)})
	r := startReceiver(t)
	witness := openOn(t, disk, toolsFile(t, r), true)
	engine := openOn(t, disk, toolsFile(t, r), false)
	w, err := engine.Deploy(t.Context(), folder())
	if err != nil {
		t.Fatal(err)
	}
	r.set(func(key string) {
		keys := map[string]int{}
		run, err := witness.Find("r")
		var c *pawl.Checkpoint
		if err == nil {
			c, err = run.Checkpoint()
		}
		if err == nil {
			addKeys(keys, c)
		}
		if keys[key] == 0 {
			t.Errorf("commit %d: sent with the key %s, which is not durable: %v", n, key, err)
		}
	})
	var state atomic.Int32
	disk.At(n, moment, func() error {
		if !state.CompareAndSwap(planned, fired) {
			return nil // it is a commit behind the run
		}
		disk.FailOpen(errDisk) // and the store stays broken
		return errDisk
	})
	run, err := pawl.Start(t.Context(), w, "r", struct{}{}, nil)
	if broke(engine.Engine, run, &state) {
		poisoned(t, n, engine)
		sent := r.requests()
		disk.FailOpen(nil)
		for !engine.Health().Since.IsZero() {
			time.Sleep(time.Millisecond)
		}
		if sent > 0 && err != nil {
			t.Errorf("commit %d: %d requests of a run that was not begun", n, sent)
		}
		run, err = pawl.Start(t.Context(), w, "r", struct{}{}, nil)
	}
	if err != nil {
		t.Fatalf("commit %d: %v", n, err)
	}
	c, err := run.Wait(t.Context(), time.Hour)
	if err != nil || c.State != pawl.StateCompleted || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("commit %d: %+v, %v", n, c, err)
		return false
	}
	keys := map[string]int{}
	addKeys(keys, c)
	effects := r.effects()
	for _, key := range effects {
		if keys[key] != 1 {
			t.Errorf("commit %d: the effect %s is recorded %d times", n, key, keys[key])
		}
	}
	if len(effects) != effectsOfRun {
		t.Errorf("commit %d: %d effects", n, len(effects))
	}
	return state.Load() == fired
}

// What becomes of a planned fault.
const (
	planned = iota
	fired
	over // the run has ended before it
)

// broke waits until the run, which is nil if it could not be begun, is completed
// or the engine has given its store up, and reports whether it has.
func broke(engine *pawl.Engine, run *pawl.Run, state *atomic.Int32) bool {
	for {
		if h := engine.Health(); state.Load() == fired && !h.Since.IsZero() && h.Live == 0 {
			return true
		}
		if run != nil {
			c, err := run.Checkpoint()
			if err == nil && c.State == pawl.StateCompleted && state.CompareAndSwap(planned, over) {
				return false
			}
		}
		time.Sleep(time.Millisecond)
	}
}

// poisoned expects that nobody gets anything from a store that is broken.
func poisoned(t *testing.T, n int, o *opened) {
	t.Helper()
	viewed := o.store.View(func(kv.View) error { return nil })
	written := o.store.Commit(&kv.Batch{Changes: []kv.Change{{Key: []byte("x"), Value: []byte("x")}}}).Wait(context.Background())
	_, found := o.Find("r")
	for what, err := range map[string]error{"a view": viewed, "a commit": written, "finding": found} {
		if !errors.Is(err, kv.ErrStoreBroken) {
			t.Errorf("commit %d failed; %s: %v", n, what, err)
		}
	}
}

// opened is an engine with its store.
type opened struct {
	*pawl.Engine
	store kv.Store
}

func openOn(t *testing.T, disk *kvtest.Disk, toolsName string, witness bool) *opened {
	t.Helper()
	tools, err := loadTools(toolsName)
	if err != nil {
		t.Fatal(err)
	}
	store, err := disk.Open()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{Tools: tools, CacheDir: proof.CacheDir(), NoRecovery: witness})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(engine.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return &opened{engine, store}
}
