package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Upgrade moves a run that rests to another version of its workflow, such as
// one in which a mistake is mended. It goes on with it from the next Resume;
// its budgets stay as they are, but a step that had failed may be attempted as
// often as the new version says.
//
// The run is moved only if its journal replays equal there: the steps so far
// have the same names in the same order, the input and their outputs fit the
// schemas, the tools that were called promise the same, and the new code of the
// step under way makes the same calls with the same requests as far as the
// journal goes. That is tried with effects impossible: every call is answered
// from the journal, and the first one that is not in it ends the trial. Steps
// that are completed do not run again.
//
// Otherwise nothing is changed and Upgrade fails with an [IncompatibleError]
// that names the first difference, or with [ErrAlreadyRunning]. A completed run,
// or one that has that version, is left as it is.
func (r *Run) Upgrade(ctx context.Context, w *Workflow) error {
	e := r.engine
	b, err := e.admit(r.id, starting, "")
	if err != nil {
		return err
	}
	defer b.era.bodies.Done()
	defer e.leave(b)
	if err := b.own(); err != nil {
		return err
	}
	if err := b.take(); err != nil {
		return err
	}
	var s journal.State
	b.run.Read(func(state *journal.State) { s = *state })
	if s.Ended() || s.Start.Digest == w.digest {
		return nil
	}
	b.workflow = w
	pins, missing := e.pins(w)
	if diffs := append(missing, b.moved(&s, w)...); len(diffs) > 0 {
		return &IncompatibleError{Run: r.id, Differences: diffs}
	}
	if err := b.tried(ctx, &s); err != nil {
		return err
	}
	err = b.run.Upgrade(ctx, &journal.Upgrade{
		Digest: w.digest, Version: w.Version(), Pins: pins, Steps: w.stepNames(), From: s.Start.Digest,
	})
	if err == nil {
		e.opts.Logger.Info("run upgraded", keyRun, r.id, keyFrom, s.Start.Digest, keyTo, w.digest)
		return nil
	}
	if storeFailed(err) {
		e.ail(err)
	}
	return b.why(err)
}

// tried rehearses the step under way, as long as the body may execute: new code
// that never ends keeps neither the engine from closing nor the store from
// being opened anew.
func (b *body) tried(ctx context.Context, s *journal.State) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.era.stopping, func() { cancel(errStopped) })()
	defer context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })()
	err := b.rehearse(ctx, s)
	switch cause := context.Cause(ctx); {
	case err == nil || cause == nil || errors.Is(err, ErrIncompatible):
		return err
	case !errors.Is(cause, errStopped):
		return cause
	}
	b.engine.mu.Lock()
	defer b.engine.mu.Unlock()
	return cmp.Or(b.engine.executes(), err)
}

// stepNames are the steps' names in order.
func (w *Workflow) stepNames() []string {
	names := make([]string, 0, len(w.manifest.Steps))
	for _, step := range w.manifest.Steps {
		names = append(names, step.Name)
	}
	return names
}

// moved lists what of a run does not fit another version of its workflow,
// before anything is replayed.
func (b *body) moved(s *journal.State, w *Workflow) (diffs []Difference) {
	if w.Name() != s.Start.Workflow {
		return []Difference{{"workflow", fmt.Sprintf("the run is one of %s, not of %s", s.Start.Workflow, w.Name())}}
	}
	names := w.stepNames()
	for i, st := range s.Steps[:s.Current+1] {
		switch {
		case i >= len(names):
			return append(diffs, Difference{"step " + st.Name, "the new version ends before it"})
		case names[i] != st.Name:
			return append(diffs, Difference{"step " + st.Name, fmt.Sprintf("the new version has %s in its place", names[i])})
		}
	}
	input, err := b.run.Body(context.Background(), &s.Start.Input)
	if err == nil {
		err = w.manifest.CheckInput(input)
	}
	if err != nil {
		diffs = append(diffs, Difference{"input", err.Error()})
	}
	for i, st := range s.Steps[:s.Current] {
		output, err := b.run.Body(context.Background(), st.Output)
		if err == nil {
			err = b.step(i).CheckOutput(output)
		}
		if err != nil {
			diffs = append(diffs, Difference{"step " + st.Name, err.Error()})
		}
	}
	return append(diffs, b.engine.promises(s)...)
}

// promises lists the tools that the run has called and that do not promise any
// more what they did then.
func (e *Engine) promises(s *journal.State) (diffs []Difference) {
	pinned := journal.Pins{Tools: map[string][]byte{}}
	for _, st := range s.Steps {
		for _, c := range slices.Concat(st.Calls, st.Unclaimed) {
			if contract, ok := s.Start.Pins.Tools[c.Tool]; ok && !c.Refused {
				pinned.Tools[c.Tool] = contract
			}
		}
	}
	return e.toolDifferences(pinned)
}

// errEqualSoFar ends a trial whose next call is not in the journal.
var errEqualSoFar = errors.New("pawl: the journal goes no further")

// rehearse runs the step under way with the new code and answers its calls from
// the journal alone. Its error is an [IncompatibleError] if the code does not
// do the same.
func (b *body) rehearse(ctx context.Context, s *journal.State) error {
	if s.Steps[s.Current].Attempts == 0 {
		return nil // nothing of it has happened
	}
	a := &attempt{body: b, run: b.run, step: b.step(s.Current), index: s.Current, number: s.Steps[s.Current].Attempts, began: time.Now()}
	if s.Phase == journal.PhaseFailed || s.Phase == journal.PhaseWaiting && s.Wait == nil {
		a.number++ // the calls that the next attempt makes again are free
	}
	guest, cancel := a.bounded(ctx)
	defer cancel()
	_, err := a.trial(guest, s.Steps[s.Current].At)
	var (
		diverged *divergedError
		trap     *sandbox.Trap
		input    *inputFailure
	)
	switch {
	case errors.Is(err, errEqualSoFar):
		return nil
	case err == nil, errors.As(err, &trap):
		if diverged = a.unmade(); diverged == nil {
			return nil
		}
	case errors.As(err, &input):
		return &IncompatibleError{Run: b.id, Differences: []Difference{{"step " + a.step.Name, err.Error()}}}
	case !errors.As(err, &diverged):
		return err
	}
	return &IncompatibleError{Run: b.id, Differences: []Difference{{
		fmt.Sprintf("step %s, call %d", a.step.Name, diverged.call),
		fmt.Sprintf("expected %s, got %s", diverged.expected, diverged.got),
	}}}
}

// unmade finds the first recorded call that the guest did not make before it
// ended; one that the next attempt makes again is not expected.
func (a *attempt) unmade() (left *divergedError) {
	a.run.Read(func(s *journal.State) {
		calls := s.Steps[a.index].Calls
		if a.calls < len(calls) && !calls[a.calls].Again(a.number) {
			left = &divergedError{call: a.calls, expected: calls[a.calls].Tool, got: "the end of the step"}
		}
	})
	return left
}

// trial enters the guest with no way out: what it logs is dropped, and a call
// is answered from the journal or ends it.
func (a *attempt) trial(ctx context.Context, at time.Time) (*sandbox.Exit, error) {
	e := &sandbox.Entry{Work: a.step.Limits.Work}
	e.Call = func(ctx context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		index := a.calls
		_, id := a.granted(r.Tool)
		hash, _ := requestHash(id, r)
		known, err := a.known(index, r.Tool, id, hash)
		switch {
		case err != nil:
			return nil, err
		case known.answer == nil, known.claim != nil:
			return nil, errEqualSoFar
		}
		a.calls++
		return a.reply(ctx, known.answer)
	}
	return a.guest(ctx, at, e)
}
