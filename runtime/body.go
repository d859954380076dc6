package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

// body is a run that this process executes, or will when its timer is due.
type body struct {
	engine   *Engine
	id       string
	run      *journal.Run
	workflow *Workflow
	entering entering // why
	entry    bool     // the next attempt was begun by somebody before: re-enter it
	era      *era
	// spared says that this process left the attempt in good order and could
	// not record that.
	spared bool
	// shown is what the person who asked for this body was shown; empty for
	// nothing. What is not that any more is left as it is.
	shown string
	// orderly says that the attempt, which is charged, is left in good order:
	// control came back from the guest, if it ever had it.
	orderly atomic.Bool
	// cancel ends what the body executes, for a reason.
	cancel context.CancelCauseFunc
	ctx    context.Context
	// cut ends with the grace of the era, or when the body is fenced: calls in
	// flight end too.
	cut   context.Context
	sever context.CancelFunc
	// survived is closed when the body has not ended the process: it has got
	// further, is inside Pawl's own tool, or rests.
	survived chan struct{}
	outlived sync.Once

	// Guarded by the engine's mu.
	lease kv.Lease
	timer *time.Timer
	wakes time.Time     // when the timer is due; what it waits for may not have come by then
	waits *journal.Wait // what it sleeps for, if a call waits
	// sleeps is what people who look are shown of the run while it sleeps.
	sleeps string
	// hung is the key of the send that it waits for, if it waits for one of this
	// process.
	hung host.Key
	// deadline is the run's; zero for none.
	deadline time.Time
	asked    bool          // a person wants it to go on now
	changed  chan struct{} // closed and renewed when the body sleeps or wakes; closed for good at its end

	err error // why it stopped, if its records do not say; written before it leaves
}

func newBody(e *Engine, now *era, id string) *body {
	b := &body{engine: e, era: now, id: id, changed: make(chan struct{}), survived: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	b.cut, b.sever = context.WithCancel(now.killing)
	return b
}

// announce tells those who wait that the body sleeps or wakes. The caller
// holds the engine's mu.
func (b *body) announce() {
	close(b.changed)
	b.changed = make(chan struct{})
	b.engine.watchers.tell(b.id)
}

func (b *body) close() {
	close(b.changed)
	b.sever()
}

// survive says that the body has not ended the process.
func (b *body) survive() { b.outlived.Do(func() { close(b.survived) }) }

// take reads the run, whose records are the body's to write from then on.
func (b *body) take() (err error) {
	if b.run != nil {
		return nil // it was begun here
	}
	if b.run, err = b.engine.book.Open(b.id, b.engine.opts.Observer); err != nil {
		return err
	}
	b.reentry()
	if w := b.waiting(); w != nil && w.Pause != nil {
		b.engine.pauses.restore(w.Tool, *w.Pause, time.UnixMicro(w.Until))
	}
	return nil
}

// open takes the run over, if it can go on; without a workflow it has nowhere
// to go.
func (b *body) open(why entering) error {
	if err := b.take(); err != nil {
		return err
	}
	b.entering = why
	return b.prepare()
}

// prepare says whether the run, as it was read, can go on as who asked for it
// was shown it.
func (b *body) prepare() (err error) {
	b.workflow = nil
	if err := b.fresh(); err != nil {
		return err
	}
	var s journal.State
	b.run.Read(func(state *journal.State) { s = *state })
	if s.Ended() || (b.entering == recovering && s.Phase != journal.PhaseOpen && s.Phase != journal.PhaseWaiting) {
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
			place.Hint = "mend the code and move the run to it (Run.Upgrade, pawl resume --upgrade), or start a new run with another input"
		}
	case journal.PhaseDecision:
		if s.Park.Code == journal.ParkUnknown || s.Park.Code == journal.ParkDiverged {
			return nil // going on asks again, or replays again; it sends nothing that is not allowed
		}
		if s.Park.Code == journal.ParkOrphan {
			place.Err = fmt.Errorf("%w: %s", ErrNeedsDecision, s.Park.Sentence)
			place.Hint = "look at the orphans (pawl show); deciding what becomes of them does not exist yet"
			return place
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

// deadlineOf is the run's deadline; zero for none.
func (b *body) deadlineOf() (at time.Time) {
	b.run.Read(func(s *journal.State) {
		if d := s.Start.Limits.Deadline; d > 0 {
			at = time.UnixMicro(d)
		}
	})
	return at
}

// waiting is what a call of the open attempt waits for, or nil.
func (b *body) waiting() (w *journal.Wait) {
	b.run.Read(func(s *journal.State) { w = s.Wait })
	return w
}

// errStopped ends an attempt because the engine closes.
var errStopped = errors.New("pawl: engine closing")

// drive executes the run until it ends, waits, its era ends, or it is not this
// body's any more.
func (b *body) drive(stopping context.Context) {
	log := b.engine.opts.Logger.With(keyRun, b.id)
	ctx, cancel := context.WithCancelCause(stopping)
	defer cancel(nil)
	defer context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })()
	b.run.StartClock()
	defer b.run.StopClock()
	defer b.engine.pauses.yield(b.id)
	err := b.takeOver(ctx)
	b.orderly.Store(err == nil)
	for err == nil && b.phase() == journal.PhaseOpen {
		if err = b.attempt(ctx); err == nil {
			b.survive()
		} else if errors.Is(err, errTooLate) {
			err = b.again(ctx, err)
		}
	}
	switch {
	case errors.Is(context.Cause(ctx), ErrFenced):
		err = context.Cause(ctx)
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
		b.err = b.why(err)
		err = b.err
		log.Error("run interrupted", keyError, err)
		b.emit(Event{Kind: Interrupted, Call: -1, Code: CodeOf(err), Message: err.Error()})
	}
}

// reentry makes the attempt that is to come one that was begun before.
func (b *body) reentry() {
	b.entry = true
	if b.spared {
		b.run.Spare()
	}
}

// takeOver begins with the run. What an owner before wrote between the reading
// and the first record is read then: it may have ended the run, or let it wait.
func (b *body) takeOver(ctx context.Context) error {
	const often = 3 // an owner that lost its lease writes no more than what it had under way
	entry := b.entry
	err := b.begin(ctx)
	for n := 0; entry && errors.Is(err, kv.ErrRequirement) && n < often; n++ {
		if err = b.run.Reload(); err != nil {
			return err
		}
		if err = b.prepare(); err != nil || b.workflow == nil {
			return err
		}
		b.reentry()
		if b.entering == recovering && time.Until(b.due()) > 0 {
			return nil
		}
		err = b.begin(ctx)
	}
	return err
}

// again goes on after a record that met one of another engine: as after an
// interruption, with what is durable, but free.
func (b *body) again(ctx context.Context, err error) error {
	if overtaken, readErr := b.run.Overtaken(); readErr != nil || overtaken {
		return err
	}
	if err := b.run.Reload(); err != nil {
		return err
	}
	b.reentry()
	b.run.Spare()
	return b.begin(ctx)
}

// why says why the run's records do not land. A requirement that failed is the
// effect of a record before, or of another owner.
func (b *body) why(err error) error {
	if errors.Is(err, kv.ErrRequirement) && !errors.Is(err, ErrFenced) {
		if cause := b.run.Cause(context.Background()); cause != nil {
			err = cause
		}
		if overtaken, readErr := b.run.Overtaken(); readErr == nil && overtaken {
			return fmt.Errorf("%w: run %s was taken over by another engine: %w", ErrFenced, b.id, err)
		}
	}
	if storeFailed(err) {
		return unavailable(err)
	}
	return err
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
	var open, waited bool
	b.run.Read(func(s *journal.State) {
		step, waited = s.Current, s.Wait != nil
		open = waited || s.Phase == journal.PhaseOpen || (s.Phase == journal.PhaseDecision && s.Steps[step].Attempts > 0)
	})
	if open {
		if !entry && !waited {
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
