package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

// body is a run that this process executes, or will when its timer is due.
type body struct {
	engine   *Engine
	id       string
	run      *journal.Run
	workflow *Workflow
	entry    bool // the next attempt was begun by somebody before: re-enter it

	// Guarded by the engine's mu.
	timer   *time.Timer
	changed chan struct{} // closed and renewed when the body sleeps or wakes; closed for good at its end

	err error // why it stopped, if its records do not say; written before it leaves
}

func newBody(e *Engine, id string) *body {
	return &body{engine: e, id: id, changed: make(chan struct{})}
}

// announce tells those who wait that the body sleeps or wakes. The caller
// holds the engine's mu.
func (b *body) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *body) close() {
	if b.run != nil {
		b.run.Close()
	}
	close(b.changed)
}

// open takes the run over, if it can go on.
func (b *body) open(why entering) (err error) {
	if b.run == nil {
		if b.run, err = b.engine.book.Open(b.id, b.engine.opts.Observer); err != nil {
			return err
		}
		b.entry = true
	}
	var s journal.State
	b.run.Read(func(state *journal.State) { s = *state })
	if s.Ended() || (why == recovering && s.Phase != journal.PhaseOpen && s.Phase != journal.PhaseWaiting) {
		return nil
	}
	if diffs := b.engine.differences(s.Start.Pins); len(diffs) > 0 {
		return &IncompatibleError{Run: b.id, Differences: diffs}
	}
	if b.workflow, err = b.engine.workflow(s.Start.Digest); err != nil {
		return err
	}
	return b.mayGoOn(&s)
}

// mayGoOn says why a run that rests cannot go on.
func (b *body) mayGoOn(s *journal.State) error {
	step := &b.workflow.manifest.Steps[s.Current]
	place := &StepError{Run: b.id, Step: step.Name, Attempt: s.Steps[s.Current].Attempts}
	switch s.Phase {
	case journal.PhaseFailed:
		place.Err = s.AllowAttempt(s.Current, step.Retry.Attempts, time.Now())
		place.Hint = "look at the last error (pawl show); start a new run once its cause is mended"
		if f := s.Steps[s.Current].Failure; f != nil && f.Kind == journal.Deterministic {
			place.Err = fmt.Errorf("%w: %s: %s", ErrDeterministic, f.Code, f.Message)
			place.Hint = "new code or another input is needed; start a new run with it"
		}
	case journal.PhaseDecision:
		if s.Park.Code == journal.ParkUnknown || s.Park.Code == journal.ParkDiverged {
			return nil // going on asks again, or replays again; it sends nothing that is not allowed
		}
		place.Err = fmt.Errorf("%w: %s", ErrBudgetSpent, s.Park.Sentence)
		place.Hint = "only a recorded act of a person raises a budget"
	}
	if place.Err == nil {
		return nil
	}
	return place
}

// due is when the next attempt is to begin; zero if the run does not wait for
// a timer.
func (b *body) due() (at time.Time) {
	b.run.Read(func(s *journal.State) {
		if s.Phase == journal.PhaseWaiting {
			at = s.Steps[s.Current].Next
		}
	})
	return at
}

// errStopped ends an attempt because the engine closes.
var errStopped = errors.New("pawl: engine closing")

// drive executes the run until it ends, waits, or the engine closes.
func (b *body) drive(ctx context.Context) {
	log := b.engine.opts.Logger.With(keyRun, b.id)
	b.run.StartClock()
	defer b.run.StopClock()
	err := b.begin(ctx)
	for err == nil && b.phase() == journal.PhaseOpen {
		err = b.attempt(ctx)
	}
	switch {
	case errors.Is(err, errStopped) && b.entry: // never entered: as it was
		err = nil
	case errors.Is(err, errStopped):
		err = b.run.Stop(context.WithoutCancel(ctx))
	case err == nil:
		log.Info("run rests", keyState, b.phase())
	}
	if flushed := b.run.Flush(context.WithoutCancel(ctx)); err == nil {
		err = flushed
	}
	if err != nil {
		b.err = err
		log.Error("run interrupted", keyError, err)
	}
}

func (b *body) phase() (p journal.Phase) {
	b.run.Read(func(s *journal.State) { p = s.Phase })
	return p
}

// begin makes sure that there is an open attempt with a durable charge.
func (b *body) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return errStopped
	}
	ctx = context.WithoutCancel(ctx) // a charge that was begun is written, then the stop is
	entry := b.entry
	b.entry = false
	var step int
	var open bool
	b.run.Read(func(s *journal.State) {
		step = s.Current
		open = s.Phase == journal.PhaseOpen || (s.Phase == journal.PhaseDecision && s.Steps[step].Attempts > 0)
	})
	if open {
		if !entry {
			return nil
		}
		charged, err := b.run.Reenter(ctx)
		if errors.Is(err, ErrBudgetSpent) {
			return b.run.ParkBudget(ctx, -1, err)
		}
		if charged {
			b.emit(Event{Kind: Recovered, Call: -1})
		}
		return err
	}
	var spent error
	b.run.Read(func(s *journal.State) { spent = s.AllowAttempt(step, b.step(step).Retry.Attempts, time.Now()) })
	if spent != nil {
		return b.run.ParkBudget(ctx, -1, spent)
	}
	return b.run.Begin(ctx)
}

func (b *body) step(i int) *manifest.Step { return &b.workflow.manifest.Steps[i] }

// emit announces something about the current step.
func (b *body) emit(e Event) {
	b.run.Read(func(s *journal.State) {
		if s.Current < len(s.Steps) {
			e.Step, e.Attempt = s.Steps[s.Current].Name, s.Steps[s.Current].Attempts
		}
		e.Seq = s.Seq
	})
	b.run.Emit(e)
}
