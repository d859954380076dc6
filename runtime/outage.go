package runtime

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// outage is a time in which nothing can be recorded, and so nothing is sent.
type outage struct {
	since time.Time
	err   error // what whoever asks meanwhile is told
}

// expectation is a run that the engine will enter by itself.
type expectation struct {
	// spared says that this process left the run's attempt in good order and
	// could not record that.
	spared bool
}

// storeFailed reports whether nothing can be recorded any more.
func storeFailed(err error) bool {
	return errors.Is(err, kv.ErrStoreBroken) || errors.Is(err, kv.ErrNoSpace)
}

// unavailable marks an error of the store.
func unavailable(err error) error {
	if errors.Is(err, ErrUnavailable) {
		return err
	}
	return &journal.UnavailableError{Err: err}
}

// ail begins an outage: every run of this process is interrupted, and the
// mender is woken. The runs go on when the store is well again, unless the
// engine recovers nothing by itself.
func (e *Engine) ail(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.outage != nil {
		return
	}
	e.outage = &outage{since: time.Now().UTC(), err: unavailable(cause)}
	if !e.opts.NoRecovery {
		for id := range e.live {
			e.expected[id] = expectation{}
		}
	}
	e.opts.Logger.Error("store unavailable: runs are interrupted", keyError, cause)
	e.era.stop()
	e.watchers.tellAll()
	e.failed <- struct{}{} // room for one, and an outage ends before the next
}

// arrive ends the waiting for a run that was expected. The caller holds mu.
func (e *Engine) arrive(id string) {
	if _, ok := e.expected[id]; ok {
		delete(e.expected, id)
		close(e.arrived)
		e.arrived = make(chan struct{})
		e.watchers.tell(id)
	}
}

// expectNone gives up on all runs that were expected.
func (e *Engine) expectNone(why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := range e.expected {
		e.troubles[id] = why
		e.arrive(id)
	}
}

// The waits between two looks at a store that has failed.
const (
	firstLook  = 100 * time.Millisecond
	longestGap = 10 * time.Second
)

// mend opens the store anew whenever it has failed, and goes on with the runs
// that it interrupted. A store that fails again before it has taken anything is
// looked at less and less often.
func (e *Engine) mend() {
	var wait time.Duration
	var commits uint64
	for {
		select {
		case <-e.closing.Done():
			return
		case <-e.failed:
		}
		if e.store.Health().Commits != commits {
			wait = 0
		}
		e.end(e.now())
		for !e.reopened(&wait) {
			if e.closing.Err() != nil {
				return
			}
		}
		commits = e.store.Health().Commits
		e.resurrect()
	}
}

func (e *Engine) now() *era {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.era
}

// reopened waits and looks whether the store is well.
func (e *Engine) reopened(wait *time.Duration) bool {
	pause := time.NewTimer(*wait)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-e.closing.Done():
		return false
	}
	*wait = min(max(2**wait, firstLook), longestGap)
	err := e.store.Reopen(e.closing)
	if errors.Is(err, kv.ErrClosed) { // for good: there is nothing to wait for
		e.expectNone(unavailable(err))
		<-e.closing.Done()
		return false
	}
	if err != nil {
		e.opts.Logger.Warn("store not reopened", keyError, err)
		return false
	}
	condition := e.store.Health().Condition
	return condition != kv.Broken && condition != kv.Full
}

// resurrect begins a new era with the runs that were interrupted. What they had
// done is read anew: only what is durable counts.
func (e *Engine) resurrect() {
	_, err := e.book.ReadOpen()
	e.life.reset()
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return
	}
	e.outage, e.era, e.held = nil, newEra(), heldBy(e.store)
	held, ids := e.held, slices.Sorted(maps.Keys(e.expected))
	e.watchers.tellAll()
	e.mu.Unlock()
	switch {
	case storeFailed(err):
		e.ail(err)
	case held != nil:
		e.expectNone(held)
	default:
		e.opts.Logger.Info("store reopened")
		_ = e.goOn(e.closing, ids) // says itself what does not go on
	}
}
