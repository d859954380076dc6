package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// viewer is somebody whose page shows a run: it reads the run anew whenever it
// is told of a change.
type viewer struct {
	shown chan string // the last document
	quit  chan struct{}
	done  chan struct{}
}

func (b *bundle) viewer(r *pawl.Run) *viewer {
	v := &viewer{shown: make(chan string, 1), quit: make(chan struct{}), done: make(chan struct{})}
	changed, stop := b.engine.Watch(r.ID())
	go func() {
		defer close(v.done)
		defer stop()
		for {
			text := read(r)
			select {
			case <-v.shown:
			default:
			}
			v.shown <- text
			select {
			case <-changed:
			case <-v.quit:
				return
			}
		}
	}()
	return v
}

// read is the run's document, or why there is none.
func read(r *pawl.Run) string {
	c, err := r.Checkpoint()
	if err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(c)
	return string(text)
}

// shows waits until the viewer shows the text.
func (v *viewer) shows(t *testing.T, want string) {
	t.Helper()
	late := time.After(time.Minute)
	for last := ""; ; {
		select {
		case last = <-v.shown:
			if last == want {
				return
			}
		case <-late:
			t.Fatalf("shows\n%s\nand the run is\n%s", last, want)
		}
	}
}

func (v *viewer) close() {
	close(v.quit)
	<-v.done
}

// Whoever reads a run anew at every value ends with what the run is, however
// many runs go through all that can happen to them at once: attempts that fail,
// timers, parks, acts, an outage, and the engine's end.
//
// Seen red with nothing told when a body leaves, and when one goes to sleep.
func TestWatchersSeeTheLastState(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, flaky.tool("flaky", host.Contract{Effect: host.Keyed}, func(n int64, _ *host.Call) (any, error) {
		switch n % 3 {
		case 0:
			return nil, errors.New("the answer is lost")
		case 1:
			return nil, host.NotApplied(errors.New("down"))
		}
		return n, nil
	}))
	b.deploy(folder(t, "[budget]\nattempts = 300", manyAttempts, "", manyAttempts))
	store := b.faults(nil)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	var runs []*pawl.Run
	var viewers []*viewer
	check := func() {
		for i, r := range runs {
			viewers[i].shows(t, read(r))
		}
	}
	for i := range 12 {
		r := b.start(w, fmt.Sprint("r", i), `{"one":[{"call":"flaky"}],"two":[],"three":[{"call":"flaky","request":{"n":3}}]}`)
		runs, viewers = append(runs, r), append(viewers, b.viewer(r))
	}
	for round := range rounds {
		for _, r := range runs {
			b.restsAgain(r)
		}
		check()
		if round == rounds/2 {
			store.set(func(f *faulty) { f.breakAt = 3 })
		}
		for _, r := range runs {
			if err := r.Act(t.Context(), ana, pawl.Resume{}); err != nil && !errors.Is(err, pawl.ErrUnavailable) && !errors.Is(err, pawl.ErrAlreadyRunning) {
				t.Error(err)
			}
		}
	}
	if err := b.engine.Close(); err != nil {
		t.Error(err)
	}
	check()
	for _, v := range viewers {
		v.close()
	}
}

// restsAgain waits until a run rests, over an outage too.
func (b *bundle) restsAgain(r *pawl.Run) {
	b.t.Helper()
	for range 2 { // an act that the outage undid is told for ever
		_, err := r.Wait(b.t.Context(), time.Minute)
		if err == nil {
			return
		}
		if !errors.Is(err, pawl.ErrUnavailable) {
			b.t.Fatal(err)
		}
		b.well()
	}
}

// drain receives what there is.
func drain(changed <-chan struct{}) {
	select {
	case <-changed:
	default:
	}
}

// What changes without a record is told too, once the records before have been
// heard of: that a body goes to sleep, wakes, lets go of a run or is admitted. A
// watcher of all runs hears of each; one of another run, and one that has
// stopped, of none.
//
// Seen red with nothing told where one is admitted, sleeps or wakes, or leaves.
func TestWatchTellsWhatNoRecordSays(t *testing.T) {
	t.Parallel()
	var busy counter
	working, release := make(chan struct{}), make(chan struct{})
	b := setup(t, busy.tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		close(working)
		<-release
		return nil, nil
	}))
	var mine, every <-chan struct{}
	b.opts.Observer = func(e pawl.Event) { // then the record has been heard of
		drain(mine)
		drain(every)
	}
	b.opts.Workers, b.opts.NoRecovery = 1, true
	var store *late
	b.wrap = func(s kv.Store) kv.Store { store = &late{Store: s}; return store }
	b.reopen()
	w := b.deploy(folder(t, "", "tools = [\"keyed\"]\nretry = { attempts = 9 }"))
	r := b.start(w, "r1", `{"one":[{"not_yet":"later","after":3}]}`)
	b.wait(r, time.Minute)
	var stop, stopEvery func()
	watch := func() {
		mine, stop = b.engine.Watch(r.ID())
		every, stopEvery = b.engine.Watch("")
	}
	told := func(what string) {
		t.Helper()
		if len(mine) == 0 || len(every) == 0 {
			t.Errorf("nobody was told that %s", what)
		}
		drain(mine)
		drain(every)
	}
	b.reopen()
	watch()
	other, stopOther := b.engine.Watch("01F0RGED000000000000000001")
	stopped, stopStopped := b.engine.Watch(r.ID())
	stopStopped()
	stopStopped()
	r = b.find("r1")
	store.behind = func() { told("it is admitted") }
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	b.wait(r, time.Minute)
	told("it sleeps")
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.start(w, "busy", `{"one":[{"call":"keyed"}]}`)
	<-working // now there is no room for another run
	drain(every)
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	told("it is awake")
	close(release)
	b.wait(r, time.Minute)
	b.wait(b.find("busy"), time.Minute)
	told("it sleeps again")
	if err := b.engine.Close(); err != nil {
		t.Fatal(err)
	}
	told("the engine has let go")
	for what, c := range map[string]<-chan struct{}{"of another run": other, "that stopped": stopped} {
		if len(c) > 0 {
			t.Errorf("a watcher %s was told", what)
		}
	}
	for _, stop := range []func(){stop, stopEvery, stopOther} {
		stop()
	}
}

// That an outage begins and ends is told to everybody who watches.
//
// Seen red for both with nothing told there.
func TestWatchTellsOfAnOutage(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	store := b.faults(func(f *faulty) { f.gate = make(chan struct{}) })
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	changed, stop := b.engine.Watch("01F0RGED000000000000000001")
	defer stop()
	until := func(out bool) {
		t.Helper()
		late := time.After(time.Minute)
		for b.engine.Health().Since.IsZero() == out {
			select {
			case <-changed:
			case <-late:
				t.Fatal("nobody was told")
			}
		}
	}
	store.set(func(f *faulty) { f.breakAt = 3 })
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	until(true)
	close(store.gate)
	until(false)
	completed(t, b.rest(r))
}
