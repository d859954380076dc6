package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Engine runs workflows on a store. It is safe for concurrent use. One engine
// at a time uses an exclusive store.
type Engine struct {
	opts    Options
	book    *journal.Book
	sandbox *sandbox.Sandbox
	slots   chan struct{} // one per run that may execute

	// stopping is cancelled when Close begins: nothing new is begun.
	// killing is cancelled when its grace is over: calls in flight end too.
	stopping, killing context.Context
	stop, kill        context.CancelFunc
	bodies            sync.WaitGroup

	closing  sync.Once
	closeErr error

	mu        sync.Mutex // guards what follows
	closed    bool
	live      map[string]*body
	troubles  map[string]error     // why a run was last given up, if its records do not say
	workflows map[string]*Workflow // by digest
}

// Open opens an engine on the store, which stays the caller's: close it after
// the engine. Unless told otherwise it goes on with the runs that an earlier
// process left open; a run that cannot go on says so in its checkpoint. ctx
// bounds opening only.
func Open(ctx context.Context, store kv.Store, opts *Options) (*Engine, error) {
	o := opts.withDefaults()
	if err := checkTools(o.Tools); err != nil {
		return nil, err
	}
	book, err := journal.OpenBook(ctx, store)
	if err != nil {
		return nil, err
	}
	box, err := sandbox.New(&sandbox.Options{CacheDir: o.CacheDir, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	e := &Engine{
		opts: o, book: book, sandbox: box, slots: make(chan struct{}, o.Workers),
		live: map[string]*body{}, troubles: map[string]error{}, workflows: map[string]*Workflow{},
	}
	e.stopping, e.stop = context.WithCancel(context.Background())
	e.killing, e.kill = context.WithCancel(context.Background())
	if o.NoRecovery {
		return e, nil
	}
	if err := e.recover(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// recover goes on with every run that is not ended. A run that cannot go on
// does not keep the engine from opening.
func (e *Engine) recover(ctx context.Context) error {
	runs, err := e.book.OpenRuns()
	if err != nil {
		return err
	}
	for _, id := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.enter(id, recovering); err != nil {
			e.opts.Logger.Warn("run not recovered", keyRun, id, keyError, err)
		}
	}
	return nil
}

// Close stops executing and waits: nothing new is begun, calls in flight may
// finish within the grace, and every run is left resumable. It does not close
// the store. A second Close waits for the first.
func (e *Engine) Close() error {
	e.closing.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Engine) close() error {
	e.mu.Lock()
	e.closed = true
	e.stop()
	var sleeping []*body
	for _, b := range e.live {
		if b.timer != nil && b.timer.Stop() {
			sleeping = append(sleeping, b)
		}
	}
	e.mu.Unlock()
	for _, b := range sleeping {
		e.leave(b)
	}
	grace := time.AfterFunc(e.opts.Grace, e.kill)
	e.bodies.Wait()
	grace.Stop()
	e.kill()
	return e.sandbox.Close(context.Background())
}

// Logging keys.
const (
	keyRun   = "run"
	keyState = "state"
	keyError = "error"
)

// entering says why a run is entered.
type entering int

const (
	starting   entering = iota // it has just been begun
	recovering                 // the engine opens: timers keep their time
	resuming                   // a person asked: timers do not matter
)

// enter takes a run that nobody executes and executes it, if it can go on.
func (e *Engine) enter(id string, why entering) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return ErrClosed
	}
	if b, ok := e.live[id]; ok {
		defer e.mu.Unlock()
		return e.hurry(b, why)
	}
	b := newBody(e, id)
	e.live[id] = b
	e.bodies.Add(1) // Close waits for what is on its way
	delete(e.troubles, id)
	e.mu.Unlock()
	defer e.bodies.Done()
	err := b.open(why)
	if err != nil || b.workflow == nil { // it cannot go on, or has nowhere to go
		e.leave(b)
		return err
	}
	e.schedule(b, why)
	return nil
}

// hurry begins the attempt that a sleeping body waits for. The caller holds mu.
func (e *Engine) hurry(b *body, why entering) error {
	if why == resuming && b.timer != nil && b.timer.Stop() {
		b.timer = nil
		e.start(b)
		return nil
	}
	return fmt.Errorf("%w: run %s, in this process", ErrAlreadyRunning, b.id)
}

// schedule starts a body, now or when its timer is due. While the engine closes
// it starts too: its attempt is begun, and only it can record that it was left
// in good order. The caller is counted in bodies.
func (e *Engine) schedule(b *body, why entering) {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := b.due()
	if e.closed && !due.IsZero() {
		e.leaveLocked(b)
		return
	}
	if due.IsZero() || why == resuming {
		e.start(b)
		return
	}
	b.timer = time.AfterFunc(time.Until(due), func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.closed {
			e.leaveLocked(b)
			return
		}
		b.timer = nil
		e.start(b)
	})
	b.announce()
}

// start gives a body its goroutine. The caller holds mu.
func (e *Engine) start(b *body) {
	b.announce()
	e.bodies.Add(1)
	go func() {
		defer e.bodies.Done()
		select {
		case e.slots <- struct{}{}:
			defer func() { <-e.slots }()
		case <-e.stopping.Done():
		}
		b.drive(e.stopping)
		if b.due().IsZero() || e.stopping.Err() != nil {
			e.leave(b)
			return
		}
		e.schedule(b, recovering)
	}()
}

// leave gives a run up.
func (e *Engine) leave(b *body) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leaveLocked(b)
}

func (e *Engine) leaveLocked(b *body) {
	if e.live[b.id] == b {
		delete(e.live, b.id)
		if b.err != nil {
			e.troubles[b.id] = b.err
		}
		b.close()
	}
}
