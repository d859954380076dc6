package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// An observer may ask the engine, also while a run is given up because the
// store has failed.
//
// Seen red with the run closed under the engine's lock.
func TestObserverAsksWhileItsRunIsGivenUp(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	var engine atomic.Pointer[pawl.Engine]
	var store *faulty
	var breaks, asks sync.Once
	b.opts.Observer = func(e pawl.Event) {
		switch e.Kind {
		case pawl.Answered:
			breaks.Do(func() { store.set(func(f *faulty) { f.breakAt = 2 }) }) // behind the receipt
		case pawl.ReceiptDurable:
			asks.Do(func() {
				for range 50 {
					engine.Load().Health()
					time.Sleep(time.Millisecond)
				}
			})
		}
	}
	store = b.faults(nil)
	engine.Store(b.engine)
	w, err := b.engine.Workflow(w.Name())
	if err != nil {
		t.Fatal(err)
	}
	completed(t, b.rest(b.start(w, "r1", `{"one":[{"call":"keyed"},{"call":"keyed","request":{"n":2}}]}`)))
}

// New code that never ends is tried as long as the engine is open, no longer.
//
// Seen red with a trial that only its caller ends.
func TestEngineClosesWhileNewCodeIsTried(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	r := b.start(b.deploy(version(t)), "r1", `{"one":[],"two":[{"fail":"mistake"}],"loops":[{"loop":true}]}`)
	b.rest(r)
	w := b.deploy(version(t, "input.two", "input.loops"))
	told := make(chan error, 1)
	go func() { told <- r.Upgrade(context.Background(), w) }()
	for b.engine.Health().Live == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := b.engine.Close(); err != nil {
		t.Error(err)
	}
	if err := <-told; !errors.Is(err, pawl.ErrClosed) {
		t.Errorf("got %v", err)
	}
	b.reopen()
	if c := b.document("r1"); c.State != pawl.StateFailed || len(c.Upgrades) != 0 {
		t.Errorf("%s, %+v", c.State, c.Upgrades)
	}
}

// tiring is a store that breaks when a run is taken, but for the first ones.
type tiring struct {
	*faulty
	runs atomic.Int32
}

func (s *tiring) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
	if strings.HasPrefix(string(name), "r/") && s.runs.Add(-1) == 0 {
		s.set(func(f *faulty) { f.broken = true })
		return nil, kv.ErrStoreBroken
	}
	return s.faulty.Lease(ctx, name, owner, ttl)
}

// A store that fails in the middle of a recovery does not keep the engine from
// going on with the runs that it had not come to.
//
// Seen red with runs that were not come to left out.
func TestRecoveryOutlivesItsStore(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	names := []string{"r1", "r2", "r3", "r4"}
	for i, name := range names {
		b.forger(w).begin(i+1, name, `{"one":[{"call":"keyed"}]}`, nil, nil) // as a crash leaves it
	}
	b.wrap = func(s kv.Store) kv.Store {
		tired := &tiring{faulty: &faulty{Store: s}}
		tired.runs.Store(2)
		return tired
	}
	b.reopen()
	b.well()
	for _, name := range names {
		completed(t, b.rest(b.find(name)))
	}
}

// leaving is a store that ends a context when something is written.
type leaving struct {
	kv.Store
	cancel context.CancelFunc
}

func (s leaving) Commit(b *kv.Batch) kv.Pending {
	s.cancel()
	return s.Store.Commit(b)
}

// A start whose caller gives up while it is written is a start: nobody finds a
// run that stands still.
//
// Seen red with a start that ends with its caller's context.
func TestStartOfACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	ctx, cancel := context.WithCancel(t.Context())
	b.wrap = func(s kv.Store) kv.Store { return leaving{s, cancel} }
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r, err := pawl.Start(ctx, w, "r1", raw(`{"one":[{"call":"keyed"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := b.rest(r)
	completed(t, c)
	if c.Budgets.Recoveries.Used != 0 {
		t.Errorf("%+v", c.Budgets.Recoveries)
	}
	if _, err := pawl.Start(ctx, w, "r2", raw(`{"one":[]}`), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a start that nobody waits for any more: %v", err)
	}
}

// A store that breaks under the record of a start costs the run no recovery,
// whether the record landed or not: nothing of it was executed.
//
// Seen red with a re-entry that is charged.
func TestStartUnderWhichTheStoreBreaks(t *testing.T) {
	t.Parallel()
	for _, landed := range []bool{false, true} {
		keyed, _, tools := keyedAndRead()
		b := setup(t, tools...)
		b.deploy(folder(t, "", `tools = ["keyed"]`))
		store := b.faults(nil)
		w, err := b.engine.Workflow("test")
		if err != nil {
			t.Fatal(err)
		}
		const input = `{"one":[{"call":"keyed"}]}`
		completed(t, b.rest(b.start(w, "r1", input))) // with the engine's own record
		store.set(func(f *faulty) { f.breakAt, f.landed = 1, landed })
		if _, err := pawl.Start(t.Context(), w, "r2", raw(input), nil); !errors.Is(err, pawl.ErrUnavailable) {
			t.Fatalf("landed %v: %v", landed, err)
		}
		c := b.rest(b.startAgain(w, "r2", input))
		completed(t, c)
		if c.Budgets.Recoveries.Used != 0 || keyed.sent.Load() != 2 {
			t.Errorf("landed %v: %+v, sent %d times", landed, c.Budgets.Recoveries, keyed.sent.Load())
		}
	}
}
