package power_test

import (
	"context"
	"errors"
	"sync"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// process is an engine over a store on the disk, up to its end.
type process struct {
	*pawl.Engine
	world  *world
	number int
	store  *gate
	flows  []*pawl.Workflow

	dead bool          // guarded by the books' mu: it sends nothing any more
	gone chan struct{} // closed when it is dead
	ends chan struct{} // closed when it is to end, or is dead
	once sync.Once

	mu      sync.Mutex // guards what follows
	planned []*planned
	stalls  bool          // the send that comes to this stands still
	stalled chan struct{} // closed when it does
	wakes   chan struct{} // closed when it may go on
}

// planned is what comes at a moment.
type planned struct {
	at Moment
	do func() error
}

// open begins a process. Its runs lie still until they are let go.
func (w *world) open() (*process, error) {
	store, err := w.disk.Open()
	if err != nil {
		return nil, err
	}
	w.processes++
	p := &process{
		world: w, number: w.processes, store: &gate{Store: store, world: w}, gone: make(chan struct{}), ends: make(chan struct{}),
		stalled: make(chan struct{}), wakes: make(chan struct{}),
	}
	tools, err := p.tools()
	if err != nil {
		return nil, err
	}
	p.Engine, err = pawl.Open(context.Background(), p.store, &pawl.Options{
		Tools: tools, CacheDir: modulesDir, Paused: true, Observer: p.observe,
	})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	for i := range w.plan.Flows {
		flow, err := p.Deploy(context.Background(), w.folders[i])
		if err != nil {
			return nil, errors.Join(err, p.Close(), store.Close())
		}
		p.flows = append(p.flows, flow)
	}
	w.alive = append(w.alive, p)
	return p, nil
}

func (p *process) observe(e pawl.Event) {
	w := p.world
	if p.isDead() {
		return
	}
	w.note(p, string(e.Kind), e.Run, e.Step, e.Tool, e.Code, e.Message)
	w.totals.count("event " + string(e.Kind) + w.detail(e))
	if e.Kind == pawl.Answered && e.Outcome == host.OutcomeNotApplied && e.Code != codeRefused {
		w.detour(e.Run)
	}
	p.moment(string(e.Kind))
}

func (p *process) isDead() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// plan arranges that something comes at a moment.
func (p *process) plan(at Moment, do func() error) {
	n := max(1, at.N)
	commits := map[string]kvtest.Moment{AtAsked: kvtest.Asked, AtWritten: kvtest.Written, AtSynced: kvtest.Synced}
	if moment, ok := commits[at.Where]; ok {
		p.world.disk.At(n, moment, func() error {
			if p.isDead() {
				return nil // it was planned for that one
			}
			return do()
		})
		return
	}
	if at.Where == AtSeconds {
		p.world.after(seconds(n), func() { _ = do() })
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = append(p.planned, &planned{Moment{at.Where, n}, do})
}

// moment does what is planned for it.
func (p *process) moment(where string) {
	p.mu.Lock()
	var now []func() error
	for _, plan := range p.planned {
		if plan.at.Where != where {
			continue
		}
		if plan.at.N--; plan.at.N == 0 {
			now = append(now, plan.do)
		}
	}
	p.mu.Unlock()
	for _, do := range now {
		_ = do()
	}
}

// die ends the process as a kill or a cut does; a cut ends all.
func (w *world) die(p *process, how End) {
	all := []*process{p}
	if how == Cut {
		all = w.living()
	}
	w.books.mu.Lock()
	came := !p.dead
	for _, p := range all {
		if !p.dead {
			p.dead = true
			close(p.gone)
			p.once.Do(func() { close(p.ends) })
		}
	}
	w.books.mu.Unlock()
	if !came {
		return
	}
	w.note(p, "DIES", string(how))
	w.died(how)
	if how == Cut {
		w.disk.Cut()
		return
	}
	w.disk.Kill(p.store.Store)
}

// bury waits until nothing of the process is left.
func (p *process) bury() {
	p.wake()
	err := errors.Join(p.Engine.Close(), p.store.Close())
	if err != nil && !p.isDead() && !p.world.faulty {
		p.world.fail("an end in good order: %v", err)
	}
	p.world.books.mu.Lock()
	defer p.world.books.mu.Unlock()
	if !p.dead {
		p.dead = true
		close(p.gone)
	}
}

// peek looks whether what has arrived has a durable intent of its own.
func (p *process) peek(c *host.Call) {
	run, err := p.Find(c.Run)
	if err != nil {
		return // a store that cannot be read says nothing
	}
	doc, err := run.Checkpoint()
	if err != nil {
		return
	}
	if step := doc.Step(c.Step); step != nil {
		for i := range step.Calls {
			if call := &step.Calls[i]; call.Key == c.Key.String() && call.Receipt == nil && call.Tries >= c.Try {
				return
			}
		}
	}
	if !p.isDead() {
		p.world.fail("%s of %s %s (key %s, try %d) was sent before its record was durable", c.Tool, c.Run, c.Step, c.Key, c.Try)
	}
}

// stand has the send that comes to this stand still with its process, if that is
// planned.
func (p *process) stand() {
	if !p.falls() {
		return
	}
	close(p.stalled)
	select {
	case <-p.wakes:
	case <-p.gone:
	}
}

// falls reports whether the process stands still from now on: once, and not any
// more when it is to end.
func (p *process) falls() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.wakes:
		return false
	default:
	}
	if !p.stalls {
		return false
	}
	p.stalls = false
	p.store.shut()
	return true
}

// wake ends a stall, if there is one.
func (p *process) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.wakes:
	default:
		close(p.wakes)
		p.store.open()
	}
}
