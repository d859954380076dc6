package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

const readThenWrites = `{"one":[{"call":"read"},{"call":"keyed"}],"two":[{"call":"keyed","request":{"n":2}}]}`

// A store that breaks under a run, at any of its commits and whether the commit
// landed or not, is opened anew by the engine, and the run goes on by itself:
// each effect under one key, the same output, no recovery charged. Whoever waits
// for the run keeps waiting.
//
// Seen red with re-entries that are charged.
func TestRunOutlivesItsStore(t *testing.T) {
	t.Parallel()
	clean := func(b *bundle, w *pawl.Workflow) *pawl.Checkpoint { return b.rest(b.start(w, "clean", readThenWrites)) }
	for _, landed := range []bool{false, true} {
		t.Run(fmt.Sprintf("landed %v", landed), func(t *testing.T) {
			t.Parallel()
			keyed, _, tools := keyedAndRead()
			b := setup(t, tools...)
			w := b.deploy(folder(t, "", `tools = ["read", "keyed"]`, `tools = ["keyed"]`))
			want := clean(b, w)
			store := b.faults(nil)
			w, err := b.engine.Workflow("test")
			if err != nil {
				t.Fatal(err)
			}
			keyed.keys.Clear()
			for n := 1; ; n++ {
				id := fmt.Sprintf("r%d", n)
				store.set(func(f *faulty) { f.breakAt, f.landed, f.written = n, landed, 0 })
				r, err := pawl.Start(t.Context(), w, id, raw(readThenWrites), nil)
				if errors.Is(err, pawl.ErrUnavailable) { // told, and there or not: the same start again
					r = b.startAgain(w, id, readThenWrites)
				} else if err != nil {
					t.Fatal(err)
				}
				c := b.rest(r)
				store.set(func(f *faulty) { f.breakAt = 0 })
				if c.State != pawl.StateCompleted || string(c.Output()) == "" || c.Budgets.Recoveries.Used != 0 || c.Budgets.Attempts.Used != 2 {
					t.Errorf("broken at commit %d: state %s %+v, %+v", n, c.State, c.Reasons, c.Budgets)
				}
				if keys := keyed.distinctKeys(); keys != 2*n {
					t.Errorf("broken at commit %d: %d keys", n, keys)
				}
				if len(c.Steps) != len(want.Steps) || len(c.Step("one").Calls) != 2 {
					t.Errorf("broken at commit %d: %+v", n, c.Steps)
				}
				if store.written < n { // the run has fewer commits
					break
				}
			}
			if err := b.engine.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

// startAgain repeats a start until the store is well again.
func (b *bundle) startAgain(w *pawl.Workflow, id, input string) *pawl.Run {
	b.t.Helper()
	for {
		r, err := pawl.Start(b.t.Context(), w, id, raw(input), nil)
		if err == nil {
			return r
		}
		if !errors.Is(err, pawl.ErrUnavailable) {
			b.t.Fatal(err)
		}
		b.well()
	}
}

// well waits until the engine executes again.
func (b *bundle) well() {
	b.t.Helper()
	for !b.engine.Health().Since.IsZero() {
		time.Sleep(time.Millisecond)
	}
}

// While the store is broken the engine says so, begins nothing, and runs are
// neither told to be there nor not to be.
//
// Seen red with errors of the store that are passed on as they are, and with
// starts that are tried.
func TestWhatIsToldWhileTheStoreIsBroken(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	store := b.faults(func(f *faulty) { f.gate = make(chan struct{}) })
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	if h := b.engine.Health(); !h.Since.IsZero() || h.Store.Condition != kv.Healthy {
		t.Errorf("%+v", h)
	}
	store.set(func(f *faulty) { f.breakAt = 3 })
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	for b.engine.Health().Since.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if h := b.engine.Health(); h.Store.Condition != kv.Broken || h.Store.Reason == "" || h.Expected != 1 {
		t.Errorf("%+v", h)
	}
	_, findErr := b.engine.Find("r1")
	_, startErr := pawl.Start(t.Context(), w, "r2", raw(`{"one":[]}`), nil)
	_, readErr := r.Checkpoint()
	for what, err := range map[string]error{"find": findErr, "resume": r.Resume(), "start": startErr, "checkpoint": readErr} {
		if !errors.Is(err, pawl.ErrUnavailable) || errors.Is(err, pawl.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(short, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v", err)
	}
	close(store.gate)
	completed(t, b.rest(r))
	if h := b.engine.Health(); !h.Since.IsZero() || h.Store.Condition != kv.Healthy || h.Recovery.WentOn != 1 || h.Expected != 0 {
		t.Errorf("%+v, %+v", h, h.Recovery)
	}
	if keyed.distinctKeys() != 1 {
		t.Errorf("%d keys", keyed.distinctKeys())
	}
}

// A disk that is full interrupts what would write, and nothing is sent that
// could not be recorded; runs go on when there is space.
//
// Seen red with a mender that does not wait for space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	var store *faulty
	var once sync.Once
	b.opts.Observer = func(e pawl.Event) {
		if e.Kind == pawl.BeforeIntent {
			once.Do(func() { store.set(func(f *faulty) { f.full = true }) })
		}
	}
	store = b.faults(nil)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	for b.engine.Health().Since.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if h := b.engine.Health(); h.Store.Condition != kv.Full || keyed.sent.Load() != 0 {
		t.Errorf("%+v, sent %d times", h, keyed.sent.Load())
	}
	if err := r.Resume(); !errors.Is(err, kv.ErrNoSpace) || !errors.Is(err, pawl.ErrUnavailable) {
		t.Errorf("resume: %v", err)
	}
	store.set(func(f *faulty) { f.full = false })
	c := b.rest(r)
	completed(t, c)
	if keyed.sent.Load() != 1 || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("sent %d times, %+v", keyed.sent.Load(), c.Budgets)
	}
}

// One read that fails while a run is loaded: nothing is executed, it is never
// taken for "there is no such run", and the next resume is fine.
//
// Seen red with the store's error passed on as it is.
func TestReadErrorOnce(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	b.opts.NoRecovery = true
	store := b.faults(nil)
	r := b.find("r1")
	for what, ask := range map[string]func() error{
		"resume":     r.Resume,
		"find":       func() error { _, err := b.engine.Find("r1"); return err },
		"checkpoint": func() error { _, err := r.Checkpoint(); return err },
		"wait":       func() error { _, err := r.Wait(t.Context(), 0); return err },
		"workflow":   func() error { _, err := b.engine.Workflow("test"); return err },
	} {
		store.set(func(f *faulty) { f.unread = errDisk })
		if err := ask(); !errors.Is(err, pawl.ErrUnavailable) || !errors.Is(err, errDisk) || errors.Is(err, pawl.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
		if store.unread != nil {
			t.Errorf("%s read nothing", what)
		}
	}
	if flaky.sent.Load() != 1 {
		t.Errorf("sent %d times", flaky.sent.Load())
	}
	completed(t, b.resume("r1"))
}

// An engine that recovers nothing by itself gives the run up, with the reason,
// and opens the store anew all the same: the next resume is fine.
//
// Seen red with a wait that goes on.
func TestCommandIsToldThatItsStoreBroke(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	b.opts.NoRecovery = true
	store := b.faults(nil)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	store.set(func(f *faulty) { f.breakAt = 3 })
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	if _, err := r.Wait(t.Context(), time.Hour); !errors.Is(err, pawl.ErrUnavailable) {
		t.Errorf("wait: %v", err)
	}
	b.well()
	completed(t, b.resume("r1"))
}
