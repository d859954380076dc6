package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// crashedRuns leaves a store on which n runs were inside their call when the
// power was lost, and one waits for its timer; the bundle opens it paused.
func crashedRuns(t *testing.T, n int) (b *bundle, keyed *counter) {
	t.Helper()
	keyed, _, tools := keyedAndRead()
	b = setup(t, tools...)
	b.deploy(folder(t, "", "tools = [\"keyed\"]\nretry = { attempts = 3 }"))
	var mu sync.Mutex
	inside := 0
	b.crashAt(func(e pawl.Event) bool {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == pawl.IntentDurable {
			inside++
		}
		return inside == n
	})
	observer := b.opts.Observer
	var all sync.WaitGroup // none gets further before all have come
	all.Add(n)
	b.opts.Observer = func(e pawl.Event) {
		observer(e)
		if e.Kind == pawl.IntentDurable {
			all.Done()
			all.Wait()
		}
	}
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.wait(b.start(w, "timer", `{"one":[{"not_yet":"later","after":3}]}`), time.Minute)
	var runs []*pawl.Run
	for i := range n {
		runs = append(runs, b.start(w, fmt.Sprint("r", i), `{"one":[{"call":"keyed"}]}`))
	}
	for _, r := range runs {
		b.crashed(r)
	}
	b.crashAt(nil)
	keyed.sent.Store(0) // the power was cut in mid-call: some were sent
	b.opts.Paused = true
	b.reopen()
	return b, keyed
}

// An engine that opens paused enters nothing: people look, and go on with single
// runs. Then the recovery is let go, by several people at once: every run that is
// left is entered once, as at an opening, and a further time changes nothing.
//
// Seen red with a paused engine that recovers, with a recovery that anybody may
// let go again, with one that also counts what is executed already, and with
// nobody told.
func TestPausedRecovery(t *testing.T) {
	t.Parallel()
	b, keyed := crashedRuns(t, 4)
	h := b.engine.Health()
	if !h.Paused || h.Open != 5 || h.Live+h.Waiting+h.Expected != 0 || h.Recovery != nil || keyed.sent.Load() != 0 {
		t.Errorf("%+v, sent %d times", h, keyed.sent.Load())
	}
	if c := b.document("r0"); c.State != pawl.StateInterrupted || len(c.Actions) != 1 {
		t.Errorf("state %s, %+v", c.State, c.Actions)
	}
	if c := b.document("timer"); c.State != pawl.StateWaiting {
		t.Errorf("state %s", c.State)
	}
	r := b.find("r0")
	if err := r.Act(t.Context(), ana, pawl.Resume{Seen: b.seen("r0")}); err != nil {
		t.Fatal(err)
	}
	completed(t, b.rest(r))
	if err := b.find("timer").Resume(); err != nil { // it fails as before, and sleeps
		t.Fatal(err)
	}
	b.wait(b.find("timer"), time.Minute)
	if keyed.sent.Load() != 1 || !b.engine.Health().Paused {
		t.Errorf("sent %d times", keyed.sent.Load())
	}
	changed, stop := b.engine.Watch("01F0RGED000000000000000001")
	defer stop()
	var people sync.WaitGroup
	for range 10 {
		people.Go(func() {
			if err := b.engine.Recover(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	people.Wait()
	if len(changed) == 0 {
		t.Error("nobody was told")
	}
	h = b.engine.Health()
	if h.Paused || h.Recovery == nil || h.Recovery.Open != 3 || h.Recovery.WentOn != 3 || h.Recovery.Waiting != 0 || h.Recovery.Elsewhere != 0 {
		t.Errorf("%+v, %+v", h, h.Recovery)
	}
	for i := range 4 {
		completed(t, b.rest(b.find(fmt.Sprint("r", i))))
	}
	if keyed.sent.Load() != 4 {
		t.Errorf("sent %d times", keyed.sent.Load())
	}
	first := *h.Recovery
	if err := b.engine.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	if h = b.engine.Health(); h.Recovery.At != first.At {
		t.Errorf("recovered again: %+v", h.Recovery)
	}
	if err := b.engine.Close(); err != nil {
		t.Error(err)
	}
	if err := b.engine.Recover(t.Context()); !errors.Is(err, pawl.ErrClosed) {
		t.Errorf("when closed: %v", err)
	}
}

// An outage while the recovery is held back goes on with what people had gone on
// with, and with nothing else.
//
// Seen red with a mender that goes on with all open runs.
func TestOutageWhilePaused(t *testing.T) {
	t.Parallel()
	b, keyed := crashedRuns(t, 3)
	store := b.faults(func(f *faulty) { f.gate = make(chan struct{}) })
	store.set(func(f *faulty) { f.breakAt = 2 })
	r := b.find("r1")
	if err := r.Resume(); err != nil && !errors.Is(err, pawl.ErrUnavailable) {
		t.Fatal(err)
	}
	for b.engine.Health().Since.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if err := b.engine.Recover(t.Context()); !errors.Is(err, pawl.ErrUnavailable) || !b.engine.Health().Paused {
		t.Errorf("during the outage: %v", err)
	}
	close(store.gate)
	completed(t, b.rest(r))
	h := b.engine.Health()
	if !h.Paused || h.Live+h.Waiting+h.Expected != 0 || keyed.sent.Load() != 1 || b.document("r2").State != pawl.StateInterrupted {
		t.Errorf("%+v, sent %d times", h, keyed.sent.Load())
	}
	if err := b.engine.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	completed(t, b.rest(b.find("r2")))
}

// A recovery that is not let go to its end stays paused for the rest; on a held
// store there is none, and where nothing is recovered nothing is paused.
//
// Seen red with a recovery that counts as let go all the same, and without the
// store asked.
func TestRecoveryThatIsNotLetGo(t *testing.T) {
	t.Parallel()
	b, keyed := crashedRuns(t, 2)
	over, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	for range 20 { // either end of the request may be noticed
		if err := b.engine.Recover(over); !errors.Is(err, gone) || !b.engine.Health().Paused {
			t.Errorf("for a request that has ended: %v", err)
		}
	}
	if h := b.engine.Health(); h.Live+h.Expected != 0 || keyed.sent.Load() != 0 {
		t.Errorf("%+v, sent %d times", h, keyed.sent.Load())
	}
	b.faults(func(f *faulty) { f.held = "this directory is a copy" })
	if err := b.engine.Recover(t.Context()); !errors.Is(err, pawl.ErrHeld) || keyed.sent.Load() != 0 {
		t.Errorf("on a held store: %v", err)
	}
	b.wrap, b.opts.NoRecovery = nil, true
	b.reopen()
	if err := b.engine.Recover(t.Context()); err != nil || b.engine.Health().Paused || b.document("r1").State != pawl.StateInterrupted {
		t.Errorf("where nothing is recovered: %v", err)
	}
	b.opts.NoRecovery = false
	b.reopen()
	if err := b.engine.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	for i := range 2 {
		completed(t, b.rest(b.find(fmt.Sprint("r", i))))
	}
}
