package runtime

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// Health is how an engine and its store are at a moment. Its JSON form is public.
type Health struct {
	// Store is the store's condition, with a sentence if it is not well. While
	// it cannot be written all runs are interrupted; the engine opens it anew by
	// itself and goes on with them.
	Store kv.Health `json:"store"`
	// Since is when the engine stopped executing for the store's sake; zero
	// while it executes.
	Since time.Time `json:"since,omitzero"`
	// Open counts the runs that are not ended. Live counts those that this
	// engine executes, Waiting those of its runs that wait for a timer, Expected
	// those that it will enter by itself.
	Open     int `json:"open"`
	Live     int `json:"live"`
	Waiting  int `json:"waiting"`
	Expected int `json:"expected"`
	// States counts the open runs by what their records say: running stands for
	// all with an open attempt, whoever executes it.
	States map[RunState]int `json:"states"`
	// Paused is set while the recovery is held back; see [Options].
	Paused bool `json:"paused"`
	// Recovery is the last recovery: when the engine opened, or when its store
	// was opened anew. Nil if there was none.
	Recovery *Recovery `json:"recovery,omitempty"`
}

// Health says how the engine and its store are. It never waits for a commit;
// on a store that other processes use too it reads the list of open runs.
func (e *Engine) Health() Health {
	h := Health{Store: e.store.Health(), States: map[RunState]int{}}
	_ = e.book.EachOpen(func(_ string, l *journal.Listing) { // what cannot be read is not counted: the condition says why
		h.Open++
		h.States[listed(l)]++
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outage != nil {
		h.Since = e.outage.since
		if h.Store.Condition == kv.Healthy { // it has just become well
			h.Store.Condition, h.Store.Reason = kv.Broken, e.outage.err.Error()
		}
	}
	for _, b := range e.live {
		if b.timer != nil {
			h.Waiting++
		} else {
			h.Live++
		}
	}
	h.Expected, h.Paused = len(e.expected), e.paused
	if e.report != nil {
		report := *e.report
		h.Recovery = &report
	}
	return h
}

// listed is the state that a listing tells.
func listed(l *journal.Listing) RunState {
	switch l.Phase {
	case journal.PhaseOpen:
		return StateRunning
	case journal.PhaseUnreadable:
		return ""
	}
	return RunState(l.Phase)
}

// HeldError is returned for everything that would execute a run on a store that
// is held: a copy, a restored directory, or one that lacks what was durable
// once. Nothing was executed or written. It matches [ErrHeld].
type HeldError struct {
	Reason string // a sentence
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("pawl: the store is held: %s; runs can be looked at and none is executed: "+
		"go on with the store that it was copied from, or keep it for reading", e.Reason)
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// heldBy returns a [HeldError] if the store is held.
func heldBy(store kv.Store) error {
	if h := store.Health(); h.Condition == kv.Held {
		return &HeldError{Reason: h.Reason}
	}
	return nil
}

// whyHeld returns the sentence of a held store.
func (e *Engine) whyHeld() (reason string, held bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var h *HeldError
	if !errors.As(e.held, &h) {
		return "", false
	}
	return h.Reason, true
}

// writes says why nothing may be written into the store.
func (e *Engine) writes() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held
}
