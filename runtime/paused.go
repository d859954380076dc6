package runtime

import (
	"context"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// Recover lets the recovery go that [Options].Paused held back: it enters every
// run that is open and that nobody has gone on with meanwhile, as an engine that
// is not paused does when it opens. A further one changes nothing, and neither
// does one of an engine that was not paused. It is safe for concurrent use: when
// one returns without an error, the recovery has been let go.
//
// It fails with [ErrClosed], on a held store with [ErrHeld], and while the store
// cannot be used with [ErrUnavailable]. ctx bounds entering the runs: when it
// ends first, those that are left stay paused for the next Recover.
func (e *Engine) Recover(ctx context.Context) error {
	select {
	case e.letting <- struct{}{}:
		defer func() { <-e.letting }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	paused, err := e.mayRecover()
	if !paused {
		return err
	}
	defer e.background.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(e.closing, func() { cancel(ErrClosed) })()
	if err = e.letGo(ctx); storeFailed(err) {
		e.ail(err)
	}
	return err
}

// mayRecover counts the caller as one of the background, which Close waits for,
// if there is a recovery to let go.
func (e *Engine) mayRecover() (paused bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.held != nil || e.paused {
		err = e.executes()
	}
	if err != nil || !e.paused {
		return false, err
	}
	e.background.Add(1)
	return true, nil
}

func (e *Engine) letGo(ctx context.Context) error {
	open := map[string]bool{}
	if err := e.book.EachOpen(func(run string, _ *journal.Listing) { open[run] = true }); err != nil {
		return err
	}
	e.mu.Lock()
	for id := range e.live {
		delete(open, id)
	}
	for id := range e.expected { // those of an outage that has just ended
		delete(open, id)
	}
	e.mu.Unlock()
	if len(open) > 0 {
		if err := e.life.begin(e); err != nil {
			return err
		}
	}
	e.hold(false)
	if err := e.goOn(ctx, slices.Sorted(maps.Keys(open))); err != nil {
		e.hold(true)
		return err
	}
	return nil
}

// hold holds the recovery back, or not any more.
func (e *Engine) hold(back bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.paused = back
	e.watchers.tellAll()
}
