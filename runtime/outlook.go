package runtime

import (
	"errors"
	"maps"
	"sync"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// reasonUnreadable is listed for a run that cannot be read; it has no state.
const reasonUnreadable = "unreadable"

// outlook tells from listings how open runs stand, as their documents do.
type outlook struct {
	engine *Engine
	held   bool
	// byPerson are the standings that only a person ends.
	byPerson map[standingKey]bool
	// fits says of groups of runs with equal pins whether this program can go on
	// with them.
	fits map[uint64]bool
	// samples are a few runs of each group of which that is not known.
	samples map[uint64][]string
}

// verdicts are what was found out about groups of runs with equal pins. Tools
// stay as they are while an engine is open, and modules are only added.
type verdicts struct {
	mu   sync.Mutex      // guards what follows
	fits map[uint64]bool // never changed, but replaced
}

func (e *Engine) outlook() outlook {
	o := outlook{engine: e, byPerson: map[standingKey]bool{}, samples: map[uint64][]string{}, fits: e.verdicts.known()}
	_, o.held = e.whyHeld()
	for _, row := range standings() {
		if row.waker == wakerOperator {
			o.byPerson[standingKey{row.state, row.code}] = true
		}
	}
	return o
}

func (v *verdicts) known() map[uint64]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.fits
}

func (v *verdicts) learn(pins uint64, fits bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	more := maps.Clone(v.fits)
	if more == nil {
		more = map[uint64]bool{}
	}
	more[pins] = fits
	v.fits = more
}

// forget makes runs be looked at again: a deploy may have brought a module that
// was missing.
func (v *verdicts) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fits = nil
}

// of is how a run stands, and the code of its reason.
func (o *outlook) of(run string, l *journal.Listing) (state RunState, reason string) {
	state, reason = o.recorded(run, l)
	switch {
	case l.Phase == journal.PhaseUnreadable:
	case o.held:
		return StateHeld, reasonHeld
	case o.engine.opts.Tools != nil && state != StateRunning && state != StateFailed && !o.fit(run, l):
		return StateIncompatible, reasonIncompatible
	}
	return state, reason
}

// recorded is how a run stands by its records and by who executes it.
func (o *outlook) recorded(run string, l *journal.Listing) (state RunState, reason string) {
	switch l.Phase {
	case journal.PhaseUnreadable:
		return "", reasonUnreadable
	case journal.PhaseWaiting:
		if l.Code == "" {
			return StateWaiting, reasonTimer
		}
		return StateWaiting, l.Code
	case journal.PhaseDecision:
		return StateNeedsDecision, l.Code
	case journal.PhaseFailed:
		return StateFailed, l.Code
	}
	live, queued := o.engine.executing(run)
	switch {
	case live:
		return StateRunning, ""
	case queued:
		return StateQueued, reasonSlowStart
	case l.Clean:
		return StateInterrupted, reasonStopped
	}
	return StateInterrupted, reasonCrashed
}

// stuck reports whether a run that stands so does not go on by itself.
func (o *outlook) stuck(state RunState, reason string) bool {
	if state == "" || state == StateFailed { // a failure has the code of the step
		return true
	}
	return o.byPerson[standingKey{state, reason}]
}

// fit reports whether this program can go on with the run. If that is not known
// of its group, the run is one to find it out with.
func (o *outlook) fit(run string, l *journal.Listing) bool {
	const enough = 16 // some may not be readable
	fits, known := o.fits[l.Pins]
	if !known && len(o.samples[l.Pins]) < enough {
		o.samples[l.Pins] = append(o.samples[l.Pins], run)
	}
	return fits || !known
}

// judge finds out what is not known of the groups that were met, and reports
// whether there was something.
func (o *outlook) judge() (more bool, err error) {
	if len(o.samples) == 0 {
		return false, nil
	}
	fits := maps.Clone(o.fits)
	if fits == nil {
		fits = map[uint64]bool{}
	}
	for pins, runs := range o.samples {
		fits[pins] = true // if none of them can be read
		for _, run := range runs {
			fit, known, err := o.verdict(pins, run)
			if err != nil {
				return false, err
			}
			if known {
				fits[pins] = fit
				o.engine.verdicts.learn(pins, fit)
				break
			}
		}
	}
	o.fits = fits
	clear(o.samples)
	return true, nil
}

// verdict finds out whether this program can go on with a run of a group; known
// is false if the run does not tell.
func (o *outlook) verdict(pins uint64, run string) (fits, known bool, err error) {
	var pinned journal.Pins
	err = o.engine.book.View(run, func(s *journal.Snapshot) error {
		pinned, known = s.Start.Pins, s.Listing().Pins == pins
		return nil
	})
	switch {
	case errors.Is(err, ErrUndecodable):
		o.engine.book.Unreadable(run)
		return false, false, nil
	case errors.Is(err, ErrNotFound): // its start is not durable yet
		return false, false, nil
	case err != nil || !known:
		return false, false, err
	}
	return len(o.engine.differences(pinned)) == 0, true, nil
}
