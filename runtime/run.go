package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Run is a handle of a run. It is safe for concurrent use.
type Run struct {
	engine *Engine
	id     string
	made   bool
}

// ID is the run's own id, a ULID.
func (r *Run) ID() string { return r.id }

// Created reports whether the [Start] that returned this handle began the run,
// rather than finding one that was there.
func (r *Run) Created() bool { return r.made }

// Find returns the run whose id or external id this is. It fails with
// [ErrNotFound].
func (e *Engine) Find(id string) (*Run, error) {
	run, err := e.book.Find(id)
	if err != nil {
		return nil, err
	}
	return &Run{engine: e, id: run}, nil
}

// Lookup returns the run that a person means by ref: its id, its external id, or
// a prefix or suffix of one of them that fits only one run; "@last" is the newest.
// Programs that know a run's name use [Engine.Find], which does not take order-10
// for order-1. It fails with [ErrNotFound].
func (e *Engine) Lookup(ref string) (*Run, error) {
	if ref == "@last" {
		for id, err := range e.book.Runs() {
			if err != nil {
				return nil, err
			}
			return &Run{engine: e, id: id}, nil
		}
		return nil, fmt.Errorf("%w: there is no run yet", ErrNotFound)
	}
	id, err := e.book.Lookup(ref)
	if err != nil {
		return nil, err
	}
	return &Run{engine: e, id: id}, nil
}

// Checkpoint reads how the run stands: what is durable, nothing else.
func (r *Run) Checkpoint() (*Checkpoint, error) { return r.engine.checkpoint(r.id) }

// Resume goes on with a run that rests: after a crash, a stop, a park, or at
// once with the attempt that its timer would begin. A completed run is left as
// it is. It returns when the run is under way; see [Run.Wait].
//
// It fails, having executed nothing, with [ErrAlreadyRunning], an
// [IncompatibleError], or a [StepError] around [ErrBudgetSpent] or
// [ErrDeterministic].
//
// While the store cannot be used it fails with [ErrUnavailable], on a held one
// with [ErrHeld], and while another engine has the run with
// [ErrAlreadyRunning], which names it.
func (r *Run) Resume() error { return r.resume("") }

// resume goes on with a run that is as who asks was shown it.
func (r *Run) resume(seen string) error {
	err := r.engine.enter(r.id, resuming, seen)
	if storeFailed(err) {
		r.engine.ail(err)
	}
	return err
}

// goOn is what a repeated start does: a run that rests goes on if it can; one
// that cannot is returned as it is, and one whose turn comes by itself keeps its
// turn: a program that starts everything again when it opens must not enter at
// once what ended it before.
func (r *Run) goOn() error {
	r.engine.mu.Lock()
	_, expected := r.engine.expected[r.id]
	r.engine.mu.Unlock()
	if expected {
		return nil
	}
	err := r.Resume()
	var step *StepError
	if errors.Is(err, ErrAlreadyRunning) || errors.As(err, &step) {
		return nil
	}
	return err
}

// Wait waits until the run rests: it has ended, it waits for a person, nobody
// executes it, or its timer is due later than longest from now. It returns the
// run's checkpoint, and an error if the engine could not go on with it. When
// ctx ends it stops waiting, and the run goes on.
//
// A run that was interrupted because its store failed is waited for: the engine
// opens the store anew and goes on with it, unless [Options.NoRecovery] is set.
func (r *Run) Wait(ctx context.Context, longest time.Duration) (*Checkpoint, error) {
	for {
		_, changed, due := r.engine.watch(r.id)
		if changed == nil || time.Until(due) > longest {
			return r.rested()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// rested is what Wait returns: the checkpoint, and why the engine last gave
// the run up, if its records do not say.
func (r *Run) rested() (*Checkpoint, error) {
	c, err := r.Checkpoint()
	r.engine.mu.Lock()
	defer r.engine.mu.Unlock()
	return c, errors.Join(r.engine.troubles[r.id], err)
}

// watch returns the body that executes the run, if there is one, a channel that
// is closed when it next sleeps, wakes or leaves, and until when it sleeps, zero
// if it does not. The channel is nil if the engine does not go on with the run by
// itself.
func (e *Engine) watch(id string) (b *body, changed <-chan struct{}, due time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b = e.live[id]
	if _, expected := e.expected[id]; b == nil && expected {
		return nil, e.arrived, time.Time{}
	}
	if b == nil {
		return nil, nil, time.Time{}
	}
	if b.timer != nil {
		due = b.wakes
	}
	return b, b.changed, due
}

// executing reports whether this process executes the run now, or will.
func (e *Engine) executing(id string) (live, queued bool) {
	b, changed, due := e.watch(id)
	return b != nil && due.IsZero(), b == nil && changed != nil
}

// Await waits for the run's output and decodes it. It waits as long as the run
// may go on by itself. For a run that does not it fails with a [StepError]
// around [ErrFailed], [ErrNeedsDecision], [ErrIncompatible] or
// [ErrInterrupted]. When ctx ends it stops waiting, and the run goes on.
func Await[Out any](ctx context.Context, r *Run) (Out, error) {
	var out Out
	c, err := r.Wait(ctx, time.Duration(1<<63-1))
	if err != nil {
		return out, err
	}
	if c.State != StateCompleted {
		return out, c.err()
	}
	err = json.Unmarshal(c.Output(), &out)
	return out, err
}
