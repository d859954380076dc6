package runtime_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

func TestStopInGoodOrderCostsNothing(t *testing.T) {
	t.Parallel()
	var keyed, slow counter
	arrived, release := make(chan struct{}), make(chan struct{})
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		slow.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) {
			close(arrived)
			<-release
			return "done", nil
		}))
	w := b.deploy(folder(t, "", `tools = ["once", "keyed"]`))
	b.start(w, "r1", `{"one":[{"call":"once"},{"call":"keyed"}]}`)
	<-arrived
	// The call in flight finishes within the grace, and nothing new begins.
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	b.close()
	if keyed.sent.Load() != 0 {
		t.Error("a call was begun after the engine was told to close")
	}
	b.opts.NoRecovery = true
	b.open()
	r := b.find("r1")
	c, err := r.Checkpoint()
	if err != nil || c.State != pawl.StateInterrupted || c.Reasons[0].Code != "stopped" || c.Step("one").Calls[0].Outcome != "applied" {
		t.Fatalf("%v, state %s, %+v", err, c.State, c.Reasons)
	}
	checkDocument(t, c)
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	c = b.rest(r)
	if c.State != pawl.StateCompleted || slow.sent.Load() != 1 || keyed.sent.Load() != 1 {
		t.Errorf("state %s, sent %d and %d times", c.State, slow.sent.Load(), keyed.sent.Load())
	}
	if c.Budgets.Attempts.Used != 1 || c.Budgets.Recoveries.Used != 0 || c.Budgets.Calls.Used != 2 {
		t.Errorf("a stop in good order was charged: %+v", c.Budgets)
	}
}

func TestEndlessLoopEndsWhenTheEngineCloses(t *testing.T) {
	t.Parallel()
	looping := make(chan struct{})
	b := setup(t)
	b.opts.Observer = func(e pawl.Event) {
		if e.Kind == pawl.Logged && e.Message == "now" {
			close(looping)
		}
	}
	b.reopen()
	w := b.deploy(folder(t, "", ""))
	b.start(w, "r1", `{"one":[{"log":"now"},{"loop":true}]}`)
	<-looping
	b.opts.NoRecovery, b.opts.Observer = true, nil
	b.reopen() // hangs if the guest does not end
	if c, err := b.find("r1").Checkpoint(); err != nil || c.State != pawl.StateInterrupted {
		t.Errorf("%v, state %s", err, c.State)
	}
}

func TestRunIsExecutedByOneBodyAtATime(t *testing.T) {
	t.Parallel()
	var slow counter
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	b := setup(t, slow.tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		arrived <- struct{}{}
		<-release
		return nil, nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	<-arrived
	if err := r.Resume(); !errors.Is(err, pawl.ErrAlreadyRunning) {
		t.Errorf("resume: %v", err)
	}
	if again := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`); again.ID() != r.ID() {
		t.Error("a second start made another run")
	}
	close(release)
	if c := b.rest(r); c.State != pawl.StateCompleted || slow.sent.Load() != 1 {
		t.Errorf("state %s, sent %d times", c.State, slow.sent.Load())
	}
}

// The same event delivered five times in parallel, and once more after a
// restart, is one run.
func TestParallelStartsAreOneRun(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	const input = `{"one":[{"call":"keyed"}]}`
	var mu sync.Mutex
	ids := map[string]bool{}
	var starts sync.WaitGroup
	for range 5 {
		starts.Go(func() {
			r := b.start(w, "event-7", input)
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID()] = true
		})
	}
	starts.Wait()
	b.rest(b.find("event-7"))
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	ids[b.start(w, "event-7", input).ID()] = true
	if len(ids) != 1 || keyed.sent.Load() != 1 {
		t.Errorf("%d runs, %d effects", len(ids), keyed.sent.Load())
	}
}

func TestGuestLogsAreEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	b := setup(t)
	b.opts.Observer = func(e pawl.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == pawl.Logged && e.Level == slog.LevelInfo {
			lines = append(lines, e.Step+": "+e.Message)
		}
	}
	b.reopen()
	w := b.deploy(folder(t, "", "", ""))
	b.rest(b.start(w, "r1", `{"one":[{"log":"hello"}],"two":[{"log":"world"}]}`))
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(lines, ", "); got != "one: hello, two: world" {
		t.Errorf("logged %q", got)
	}
}
