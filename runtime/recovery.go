package runtime

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// Recovery tells what became of the runs that were open when an engine opened,
// when its recovery was let go, or when its store was opened anew. Its JSON form
// is public.
type Recovery struct {
	At time.Time `json:"at"`
	// Stops counts the engines on this store that ended without a word within
	// the last hour, as far as that was noticed.
	Stops int `json:"stops"`
	// Open is how many runs there were, but for those that people had gone on
	// with before it was let go. Each is counted in one of the fields below, once
	// it was its turn.
	Open int `json:"open"`
	// WentOn are executed again. Waiting wait for a timer.
	WentOn  int `json:"went_on"`
	Waiting int `json:"waiting"`
	// NeedPerson wait for a decision, Failed hold after a failure.
	NeedPerson int `json:"need_person"`
	Failed     int `json:"failed"`
	// Incompatible cannot go on with this program. Held are those of a held
	// store. Elsewhere are executed by another engine. Unreadable could not be
	// read, or their records could not be understood.
	Incompatible int `json:"incompatible"`
	Held         int `json:"held"`
	Elsewhere    int `json:"elsewhere"`
	Unreadable   int `json:"unreadable"`
	// Queued are suspected to have ended the process: they are entered slowly.
	Queued int `json:"queued"`
}

// recover goes on with every run that is not ended. A run that cannot go on
// does not keep the engine from opening.
func (e *Engine) recover(ctx context.Context) error {
	ids, err := e.book.ReadOpen()
	if err != nil {
		return err
	}
	if _, held := e.whyHeld(); held {
		e.reported(&Recovery{At: time.Now().UTC(), Open: len(ids), Held: len(ids)})
		return nil
	}
	if e.opts.NoRecovery {
		return nil
	}
	if e.opts.Paused {
		e.hold(true)
		return nil
	}
	if len(ids) > 0 {
		if err := e.life.begin(e); err != nil {
			return err
		}
	}
	return e.goOn(ctx, ids)
}

func (e *Engine) reported(r *Recovery) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.report = r
}

// count changes the report of the recovery under way.
func (e *Engine) count(f func(*Recovery)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f(e.report)
}

// goOn enters the runs: all at once, but after repeated unclean stops those
// that may have caused them slowly.
func (e *Engine) goOn(ctx context.Context, ids []string) error {
	slowly := e.life.unclean() >= 2
	e.reported(&Recovery{At: time.Now().UTC(), Open: len(ids), Stops: e.life.unclean()})
	var suspects []suspect
	for n, id := range ids {
		if err := context.Cause(ctx); err != nil {
			e.unexpect(suspects)
			return err
		}
		if e.rests(id) {
			continue
		}
		if slowly {
			if s, ok := e.suspect(id); ok {
				suspects = append(suspects, s)
				e.count(func(r *Recovery) { r.Queued++ })
				e.expect(id)
				continue
			}
		}
		if _, err := e.reenter(id); storeFailed(err) {
			for _, id := range ids[n+1:] { // the mender comes to them too
				e.expect(id)
			}
			e.ail(err)
			return nil
		}
	}
	if len(suspects) > 0 {
		now := e.now()
		e.background.Go(func() { e.startSlowly(now, suspects) })
	}
	return nil
}

// rests counts a run that nothing but a person moves.
func (e *Engine) rests(id string) bool {
	l, open := e.book.Listing(id)
	switch {
	case !open:
		return false // whoever enters it finds out
	case l.Phase == journal.PhaseDecision:
		e.count(func(r *Recovery) { r.NeedPerson++ })
	case l.Phase == journal.PhaseFailed:
		e.count(func(r *Recovery) { r.Failed++ })
	default:
		return false
	}
	e.mu.Lock()
	e.arrive(id)
	e.mu.Unlock()
	return true
}

func (e *Engine) expect(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.expected[id]; !known {
		e.expected[id] = expectation{}
		e.watchers.tell(id)
	}
}

// unexpect gives up on suspects that are not entered now.
func (e *Engine) unexpect(suspects []suspect) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range suspects {
		e.arrive(s.id)
	}
}

// reenter enters a run by itself and counts what came of it. The body is nil if
// it does not execute.
func (e *Engine) reenter(id string) (*body, error) {
	e.mu.Lock()
	was := e.expected[id]
	e.mu.Unlock()
	err := e.enter(id, recovering, "")
	if storeFailed(err) { // the mender comes back to it
		e.mu.Lock()
		e.expected[id] = was
		e.watchers.tell(id)
		e.mu.Unlock()
		return nil, err
	}
	if err != nil {
		e.opts.Logger.Warn("run not recovered", keyRun, id, keyError, err)
	}
	if errors.Is(err, ErrUndecodable) {
		e.book.Unreadable(id)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.live[id] // nil if it has nowhere to go, or has left already
	e.arrive(id)    // if it was not admitted it is expected no more
	if b != nil {
		err = nil // else a person was faster
	}
	switch {
	case errors.Is(err, ErrIncompatible):
		e.report.Incompatible++
	case errors.Is(err, ErrAlreadyRunning):
		e.report.Elsewhere++
	case err != nil:
		e.report.Unreadable++
	case b != nil && b.timer != nil:
		e.report.Waiting++
	default:
		e.report.WentOn++
	}
	return b, err
}

// suspect is a run that may have ended the process: it was inside guest code,
// or in a tool within the program.
type suspect struct {
	id     string
	inARow int // its recoveries at one position so far
}

func (e *Engine) suspect(id string) (s suspect, suspected bool) {
	err := e.book.View(id, func(v *journal.Snapshot) error {
		s, suspected = suspect{id, v.InARow()}, v.Suspect()
		return nil
	})
	return s, suspected && err == nil // one that cannot be read executes nothing
}

// startSlowly enters suspects in groups of 1, 2, 4 ..., each when all of the
// one before have survived, so that a run that ends the process every time is
// charged for that alone. Those that have been charged most come first, and one
// that was charged repeatedly comes alone: it must not take others with it.
func (e *Engine) startSlowly(now *era, suspects []suspect) {
	slices.SortStableFunc(suspects, func(a, b suspect) int { return cmp.Compare(b.inARow, a.inARow) })
	for size := 1; len(suspects) > 0; {
		n := 1
		if suspects[0].inARow <= 1 {
			n = min(size, len(suspects))
			size *= 2
		}
		var group []*body
		for _, s := range suspects[:n] {
			e.count(func(r *Recovery) { r.Queued-- })
			b, err := e.reenter(s.id)
			if storeFailed(err) {
				e.ail(err)
				return
			}
			if b != nil {
				group = append(group, b)
			}
		}
		suspects = suspects[n:]
		for _, b := range group {
			select {
			case <-b.survived:
			case <-now.stopping.Done():
				return
			}
		}
	}
}
