package runtime

import (
	"context"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Recount executes every step of a completed run once more, with answers from
// its journal alone, and returns what the guests compute in all. It is what the
// run has been charged for if each of its steps took one attempt.
func (e *Engine) Recount(ctx context.Context, id string) (work int64, err error) {
	run, err := e.book.Open(id, nil)
	if err != nil {
		return 0, err
	}
	defer run.Close()
	var state journal.State
	run.Read(func(s *journal.State) { state = *s })
	workflow, err := e.workflow(state.Start.Digest)
	if err != nil {
		return 0, err
	}
	b := &body{engine: e, id: id, run: run, workflow: workflow}
	for i, step := range state.Steps {
		a := &attempt{body: b, run: run, step: b.step(i), index: i, number: step.Attempts}
		if _, err := a.guest(ctx, step.At, &sandbox.Entry{Worked: &a.worked, Call: a.call}); err != nil {
			return 0, err
		}
		work += a.worked.Load()
	}
	return work, nil
}

// ScanAtMost makes a list look at n ended runs at most.
func (e *Engine) ScanAtMost(n int) { e.mostScanned = n }

// Expect makes the engine say that it will enter the run by itself.
func (e *Engine) Expect(id string) { e.expect(id) }

// Share makes engines use a sandbox that is not theirs, which stays open. What
// one of them has loaded the others have too, as if it were one engine.
func (o *Options) Share(box *sandbox.Sandbox) { o.sandbox = box }
