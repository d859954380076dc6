package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// bank is what calls reach, outside of every engine. It loses its first
// answer to each run, so that the run rests; the second call of a run stalls.
type bank struct {
	mu      sync.Mutex
	sent    map[string]int // by run and key
	calls   map[string]int // by run
	arrived chan chan struct{}
}

func (r *bank) tool(timeout time.Duration) host.Tool {
	return host.Func("keyed", func(_ context.Context, c *host.Call, _ map[string]any) (any, error) {
		r.mu.Lock()
		r.sent[c.Run+" "+c.Key.String()]++
		r.calls[c.Run]++
		n := r.calls[c.Run]
		r.mu.Unlock()
		switch n {
		case 1:
			return nil, errors.New("the answer is lost")
		case 2:
			release := make(chan struct{})
			r.arrived <- release
			<-release
		}
		return "done", nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed, Timeout: timeout}})
}

// count returns how many keys a run used, and how often it was sent.
func (r *bank) count(run string) (keys, sent int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, n := range r.sent {
		if strings.HasPrefix(key, run) {
			keys++
			sent += n
		}
	}
	return keys, sent
}

// pair are two engines on one shared disk.
type pair struct {
	t       *testing.T
	disk    *kvtest.Disk
	stores  []kv.Store
	engines []*pawl.Engine
	to      *bank
	w       *pawl.Workflow
}

func newPair(t *testing.T, timeout time.Duration) *pair {
	t.Helper()
	p := &pair{t: t, disk: kvtest.NewDisk(&kvtest.DiskOptions{Shared: true}), to: &bank{sent: map[string]int{}, calls: map[string]int{}, arrived: make(chan chan struct{}, 1)}}
	for range 2 {
		p.open(timeout)
	}
	var err error
	if p.w, err = p.engines[0].Deploy(t.Context(), folder(t, "", `tools = ["keyed"]`, `tools = ["keyed"]`)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.engines[len(p.engines)-1].Check(); err != nil {
			t.Error(err)
		}
		for i := range p.engines {
			if err := errors.Join(p.engines[i].Close(), p.stores[i].Close()); err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func (p *pair) open(timeout time.Duration) *pawl.Engine {
	p.t.Helper()
	store, err := p.disk.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	tools, err := host.NewRegistry(p.to.tool(timeout))
	if err != nil {
		p.t.Fatal(err)
	}
	e, err := pawl.Open(p.t.Context(), store, &pawl.Options{Tools: tools, CacheDir: cacheDir(), NoRecovery: true})
	if err != nil {
		p.t.Fatal(err)
	}
	p.stores, p.engines = append(p.stores, store), append(p.engines, e)
	return e
}

// parked starts a run that rests until it is resumed, and returns the handles
// that the engines have of it.
func (p *pair) parked(id string) []*pawl.Run {
	p.t.Helper()
	r, err := pawl.Start(p.t.Context(), p.w, id, raw(`{"one":[{"call":"keyed"}],"two":[{"call":"keyed"}]}`), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if c, err := r.Wait(p.t.Context(), 0); err != nil || c.State != pawl.StateNeedsDecision {
		p.t.Fatalf("%v: %+v", err, c)
	}
	theirs, err := p.engines[1].Find(id)
	if err != nil {
		p.t.Fatal(err)
	}
	return []*pawl.Run{r, theirs}
}

// resumeAtOnce resumes a run in both engines and returns the one that has it,
// then the other.
func (p *pair) resumeAtOnce(runs []*pawl.Run) (winner, loser *pawl.Run) {
	p.t.Helper()
	errs := make([]error, 2)
	var asked sync.WaitGroup
	for i, r := range runs {
		asked.Go(func() { errs[i] = r.Resume() })
	}
	asked.Wait()
	for i := range runs {
		if errs[i] == nil && errors.Is(errs[1-i], pawl.ErrAlreadyRunning) {
			return runs[i], runs[1-i]
		}
	}
	p.t.Fatalf("both were resumed: %v, %v", errs[0], errs[1])
	return nil, nil
}

// Two engines over one store resume one run at once, many times. One wins; the
// other is told who has it. The winner stalls in mid-call until its lease is
// over, the other takes the run over and completes it, and the winner wakes: its
// receipt does not land, it sends nothing more, and says that it was fenced.
// There is one chain, and each effect has one key.
//
// Seen red without leases, and without the requirement on the head.
func TestTwoEnginesOneRun(t *testing.T) {
	t.Parallel()
	p := newPair(t, time.Minute)
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	for i := range rounds {
		runs := p.parked(fmt.Sprintf("r%d", i))
		winner, loser := p.resumeAtOnce(runs)
		release := <-p.to.arrived
		err := kv.ErrLeased
		for errors.Is(err, kv.ErrLeased) || errors.Is(err, pawl.ErrAlreadyRunning) {
			p.disk.Pass(time.Hour) // the winner may renew just then
			err = loser.Resume()
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := loser.Wait(t.Context(), 0)
		if err != nil || c.State != pawl.StateCompleted {
			t.Fatalf("round %d: %v: %+v", i, err, c)
		}
		close(release)
		if _, err := winner.Wait(t.Context(), 0); !errors.Is(err, pawl.ErrFenced) {
			t.Fatalf("round %d: the one that was late: %v", i, err)
		}
		if after, err := winner.Checkpoint(); err != nil || after.Seq != c.Seq {
			t.Fatalf("round %d: %v: %+v, was %d", i, err, after, c.Seq)
		}
		// One lost, one stalled, one by the other engine, and the second step's.
		if keys, sent := p.to.count(winner.ID()); keys != 2 || sent != 4 {
			t.Fatalf("round %d: %d keys, sent %d times", i, keys, sent)
		}
	}
}

// While a call is under way nobody else can take its run: the lease was made
// to outlive the call before that was sent.
//
// Seen red with a lease that is not looked at before a call.
func TestLeaseOutlivesTheCall(t *testing.T) {
	t.Parallel()
	p := newPair(t, time.Hour)
	winner, loser := p.resumeAtOnce(p.parked("r1"))
	release := <-p.to.arrived
	p.disk.Pass(59 * time.Minute)
	if err := loser.Resume(); !errors.Is(err, pawl.ErrAlreadyRunning) {
		t.Errorf("resume: %v", err)
	}
	close(release)
	if c, err := winner.Wait(t.Context(), 0); err != nil || c.State != pawl.StateCompleted {
		t.Errorf("%v: %+v", err, c)
	}
	if keys, sent := p.to.count(winner.ID()); keys != 2 || sent != 3 {
		t.Errorf("%d keys, sent %d times", keys, sent)
	}
}

// Nothing is sent under a lease that cannot be prolonged: the run is left as
// fenced, and can be resumed.
//
// Seen red with a lease that is not looked at before a call.
func TestNothingIsSentUnderALeaseThatEnds(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	store := b.faults(func(f *faulty) { f.stuck = true })
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}]}`)
	if _, err := r.Wait(t.Context(), 0); !errors.Is(err, pawl.ErrFenced) {
		t.Errorf("wait: %v", err)
	}
	if keyed.sent.Load() != 0 {
		t.Errorf("sent %d times", keyed.sent.Load())
	}
	store.set(func(f *faulty) { f.stuck = false })
	completed(t, b.resume("r1"))
}
