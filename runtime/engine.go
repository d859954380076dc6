package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Engine runs workflows on a store. It is safe for concurrent use. Several
// engines can use one store; a run is executed by one of them at a time.
type Engine struct {
	opts    Options
	store   kv.Store
	book    *journal.Book
	sandbox *sandbox.Sandbox
	slots   chan struct{} // one per run that may execute
	pauses  pauses
	keys    keys
	sends   host.Sends // of all calls of this process
	// verdicts is what lists know of whether runs can go on.
	verdicts  verdicts
	imports   imports
	contracts contracts
	// mostScanned is the constant of that name, but in tests.
	mostScanned int
	id          string // who holds this engine's leases, for people too

	// closing is cancelled when Close begins; background are the goroutines
	// that end then.
	closing    context.Context
	shut       context.CancelFunc
	background sync.WaitGroup
	failed     chan struct{} // the store has failed: wakes the mender
	letting    chan struct{} // capacity 1: whoever fills it lets the recovery go

	once     sync.Once
	closeErr error
	life     life

	mu        sync.Mutex // guards what follows
	closed    bool
	era       *era
	live      map[string]*body
	expected  map[string]expectation // runs that the engine will enter by itself
	arrived   chan struct{}          // closed and renewed when one is expected no more
	troubles  map[string]error       // why a run was last given up, if its records do not say
	workflows map[string]*Workflow   // by digest
	held      error                  // why nothing is executed, if the store is held
	outage    *outage                // while the store cannot be written
	report    *Recovery              // of the last recovery
	paused    bool                   // the recovery is held back
	watchers  watchers
}

// Open opens an engine on the store, which stays the caller's: close it after
// the engine. Unless told otherwise it goes on with the runs that an earlier
// process left open; a run that cannot go on says so in its checkpoint. On a
// store that is held ([kv.Held]) it opens for reading, and executes nothing.
// ctx bounds opening only.
func Open(ctx context.Context, store kv.Store, opts *Options) (*Engine, error) {
	o := opts.withDefaults()
	if err := checkTools(o.Tools); err != nil {
		return nil, err
	}
	book, err := journal.OpenBook(ctx, store)
	if err != nil {
		return nil, err
	}
	box := o.sandbox
	if box == nil {
		if box, err = sandbox.New(&sandbox.Options{CacheDir: o.CacheDir, Logger: o.Logger}); err != nil {
			return nil, err
		}
	}
	e := &Engine{
		opts: o, store: store, book: book, sandbox: box, slots: make(chan struct{}, o.Workers), id: ownerName(),
		failed: make(chan struct{}, 1), letting: make(chan struct{}, 1), era: newEra(), arrived: make(chan struct{}),
		live: map[string]*body{}, expected: map[string]expectation{}, troubles: map[string]error{},
		workflows: map[string]*Workflow{}, held: heldBy(store), watchers: watchers{}, mostScanned: mostScanned,
	}
	e.closing, e.shut = context.WithCancel(context.Background())
	e.background.Go(e.keep)
	e.background.Go(e.mend)
	if err := e.recover(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close stops executing and waits: nothing new is begun, calls in flight may
// finish within the grace, and every run is left resumable. It does not close
// the store. A second Close waits for the first.
func (e *Engine) Close() error {
	e.once.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closed = true
	now := e.era
	e.mu.Unlock()
	e.shut()
	e.end(now)
	e.background.Wait()
	e.expectNone(ErrClosed)
	e.life.end(e)
	if e.opts.sandbox != nil {
		return nil // it is somebody else's
	}
	return e.sandbox.Close(context.Background())
}

// Logging keys.
const (
	keyRun       = "run"
	keyState     = "state"
	keyError     = "error"
	keyAction    = "action"
	keyPrincipal = "principal"
	keyFrom      = "from" // digests of workflows
	keyTo        = "to"
	keyWorkflow  = "workflow"
	keyVersion   = "version"
	keyDigest    = "digest"
)

// entering says why a run is entered.
type entering int

const (
	starting   entering = iota // it has just been begun
	recovering                 // the engine goes on by itself: timers keep their time
	resuming                   // a person asked: timers do not matter
)

// admit registers a body for the run; nobody else executes it in this process
// then. The caller counts the body in its era until it is scheduled or has
// left. Without a body and an error, a sleeping one was woken. seen is what the
// person who asks was shown; empty for nothing.
func (e *Engine) admit(id string, why entering, seen string) (*body, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.executes(); err != nil {
		return nil, err
	}
	if b, ok := e.live[id]; ok {
		return nil, e.hurry(b, why, seen)
	}
	b := newBody(e, e.era, id)
	b.spared, b.asked, b.shown = e.expected[id].spared, why == resuming, seen
	e.live[id] = b
	e.arrive(id)
	e.watchers.tell(id)
	b.era.bodies.Add(1)
	delete(e.troubles, id)
	return b, nil
}

// executes says why the engine executes nothing. The caller holds mu.
func (e *Engine) executes() error {
	switch {
	case e.closed:
		return ErrClosed
	case e.outage != nil:
		return e.outage.err
	}
	return e.held
}

// enter takes a run that nobody executes and executes it, if it can go on and is
// as who asks was shown it.
func (e *Engine) enter(id string, why entering, seen string) error {
	b, err := e.admit(id, why, seen)
	if b == nil {
		return err
	}
	defer b.era.bodies.Done()
	if err = b.own(); err == nil {
		err = b.open(why)
	}
	if err == nil && b.workflow != nil {
		err = e.life.begin(e)
	}
	if err != nil || b.workflow == nil { // it cannot go on, or has nowhere to go
		e.leave(b)
		return err
	}
	e.schedule(b, why)
	return nil
}

// hurry begins the attempt that a sleeping body waits for. The caller holds mu.
func (e *Engine) hurry(b *body, why entering, seen string) error {
	if why == resuming && b.timer != nil {
		if err := unchanged(b.id, seen, b.sleeps); err != nil {
			return err
		}
	}
	if why == resuming && b.timer != nil && b.timer.Stop() {
		b.asked = true
		e.wake(b)
		return nil
	}
	return fmt.Errorf("%w: run %s, by %s", ErrAlreadyRunning, b.id, e.id)
}

// schedule starts a body, now or when its timer is due. While its era ends it
// starts too: its attempt is begun, and only it can record that it was left in
// good order. The caller is counted in the era's bodies.
func (e *Engine) schedule(b *body, why entering) {
	due, waits, deadline, seen := b.due(), b.waiting(), b.deadlineOf(), b.seen()
	e.mu.Lock()
	b.waits, b.deadline, b.sleeps = waits, deadline, seen
	ended := e.closed || b.era != e.era || e.outage != nil
	switch {
	case due.IsZero() || why == resuming:
		e.start(b)
	case !ended:
		e.sleep(b, due)
	}
	e.mu.Unlock()
	if ended && !due.IsZero() && why != resuming {
		e.leave(b)
	}
}

// sleep lets a body wait for its timer; it stays counted in its era. The caller
// holds mu.
func (e *Engine) sleep(b *body, due time.Time) {
	b.era.bodies.Add(1)
	if due.After(time.Now()) && e.over(b) {
		due = time.Now() // what it waits for came while it went to sleep
	}
	b.wakes = due
	b.timer = time.AfterFunc(time.Until(due), func() {
		e.mu.Lock()
		ended := b.era.stopping.Err() != nil
		if ended {
			b.timer = nil
		} else if due := e.still(b, time.Now()); !due.IsZero() {
			b.wakes = due
			b.timer.Reset(time.Until(due))
			b.announce() // who waits for the run may not want to wait so long
		} else {
			e.wake(b)
		}
		e.mu.Unlock()
		if ended {
			e.leave(b)
			b.era.bodies.Done()
		}
	})
	b.announce()
	if b.waits != nil && b.waits.Code == journal.WaitHanging && b.hung != (host.Key{}) {
		returned, moved := e.sends.Returned(b.hung), b.changed
		e.background.Go(func() { e.outlast(b, returned, moved) })
	}
}

// wake starts a body that slept. The caller holds mu and has stopped its timer.
func (e *Engine) wake(b *body) {
	b.timer = nil
	e.start(b)
	b.era.bodies.Done()
}

// start gives a body its goroutine. The caller holds mu.
func (e *Engine) start(b *body) {
	b.announce()
	b.era.bodies.Add(1)
	go func() {
		defer b.era.bodies.Done()
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
		case <-b.era.stopping.Done():
		}
		b.drive(b.era.stopping)
		if b.err != nil || b.due().IsZero() || b.era.stopping.Err() != nil {
			e.giveUp(b)
			return
		}
		b.survive()
		e.schedule(b, recovering)
	}()
}

// giveUp ends a body that has driven its run.
func (e *Engine) giveUp(b *body) {
	if storeFailed(b.err) {
		e.ail(b.err)
	}
	e.leave(b)
}

// leave gives a run up. It waits for the observer, which may ask the engine
// something, and so before it takes mu.
func (e *Engine) leave(b *body) {
	if b.run != nil {
		b.run.Close()
	}
	b.disown()
	b.survive()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.live[b.id] == b {
		delete(e.live, b.id)
		if _, expected := e.expected[b.id]; expected {
			e.expected[b.id] = expectation{spared: b.orderly.Load()}
		}
		if b.err != nil {
			e.troubles[b.id] = b.err
		}
		b.close()
		e.watchers.tell(b.id)
	}
}
