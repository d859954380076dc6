package runtime

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// attempt is one entry of one attempt of a step: the loop that answers the
// guest's calls, from the journal first.
type attempt struct {
	body   *body
	run    *journal.Run
	step   *manifest.Step
	index  int // of the step
	number int
	calls  int                // made so far in this entry
	made   map[request]uint32 // how often each, in this entry
	began  time.Time
	worked atomic.Int64 // by the guest of this entry
	asked  bool         // a person wants it to go on now
}

// request is what a guest asks of a tool; equal ones are told apart by their
// occurrence.
type request struct {
	tool string
	hash host.Hash
}

// attempt executes the open attempt of the current step and records its end.
func (b *body) attempt(ctx context.Context) error {
	if ctx.Err() != nil {
		return errStopped
	}
	a := &attempt{body: b, run: b.run, began: time.Now()}
	var at time.Time
	b.run.Read(func(s *journal.State) {
		a.index, a.number, at = s.Current, s.Steps[s.Current].Attempts, s.Steps[s.Current].At
	})
	a.step = b.step(a.index)
	b.engine.mu.Lock()
	a.asked, b.asked = b.asked, false
	b.engine.mu.Unlock()
	b.emit(Event{Kind: Begun, Call: -1})
	guest, cancel := a.bounded(ctx)
	exit, err := a.enter(guest, at)
	cancel()
	b.emit(Event{Kind: Returned, Call: -1, Elapsed: time.Since(a.began)})
	return a.settle(ctx, exit, err)
}

// bounded ends ctx when the run's deadline, or its active time, is over. A run
// that waits in a call is stopped there too; the call stays open.
func (a *attempt) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	var at time.Time
	var spent error
	a.run.Read(func(s *journal.State) { at, spent = s.TimeLimit(time.Now()) })
	if at.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadlineCause(ctx, at, spent)
}

// enter runs the guest.
func (a *attempt) enter(ctx context.Context, at time.Time) (*sandbox.Exit, error) {
	work, spent, err := a.workLimit()
	if err != nil {
		return nil, err
	}
	a.run.Meter(&a.worked)
	if err := a.run.EnterLog(); err != nil {
		return nil, err
	}
	exit, err := a.guest(ctx, at, &sandbox.Entry{Work: work, Worked: &a.worked, Call: a.call, Log: a.log, LeftOut: a.leaveOut})
	if trap := new(sandbox.Trap); spent != nil && errors.As(err, &trap) && trap.Code == sandbox.TrapWorkLimit {
		return nil, spent
	}
	return exit, err
}

// guest enters the step's module; e says what may come of it, the rest is the
// step's.
func (a *attempt) guest(ctx context.Context, at time.Time, e *sandbox.Entry) (exit *sandbox.Exit, err error) {
	if e.Input, err = a.input(ctx); err != nil {
		return nil, err
	}
	module, err := a.body.workflow.module(ctx, a.step.Module)
	if err != nil {
		return nil, err
	}
	e.Step, e.Start, e.Random, e.MemoryPages = a.step.Name, at, a.random, a.step.Limits.MemoryPages
	return module.Enter(ctx, e)
}

// workLimit is what the guest may compute: the step's own limit, or what the
// run's budget still allows. If that is less, spent is its error: a budget of
// the run parks, and the step never sees it. Without anything left, err is.
func (a *attempt) workLimit() (limit int64, spent, err error) {
	limit = a.step.Limits.Work
	a.run.Read(func(s *journal.State) {
		budget, over := s.WorkLimit()
		switch {
		case over == nil || limit > 0 && limit <= budget:
		case budget <= 0: // which would be no limit
			err = over
		default:
			limit, spent = budget, over
		}
	})
	return limit, spent, err
}

// input is the step's input. What it is made of is recorded, so it is the same
// in every attempt.
func (a *attempt) input(ctx context.Context) ([]byte, error) {
	var input *kv.Body
	outputs := map[string]*kv.Body{}
	a.run.Read(func(s *journal.State) {
		input = &s.Start.Input
		for _, st := range s.Steps[:s.Current] {
			outputs[st.Name] = st.Output
		}
	})
	read := map[string]json.RawMessage{}
	for name, body := range outputs {
		data, err := a.run.Body(ctx, body)
		if err != nil {
			return nil, err
		}
		read[name] = data
	}
	whole, err := a.run.Body(ctx, input)
	if err != nil {
		return nil, err
	}
	previous := json.RawMessage(whole)
	if a.index > 0 {
		previous = read[a.body.step(a.index-1).Name]
	}
	made, err := a.step.Input(whole, read, previous)
	if err == nil && len(made) > sandbox.MaxPayload {
		err = fmt.Errorf("%d bytes; a step takes at most %d", len(made), sandbox.MaxPayload)
	}
	if err != nil {
		return nil, &inputFailure{err}
	}
	return made, nil
}

// inputFailure says that a step's input cannot be made from what is there.
type inputFailure struct{ err error }

func (e *inputFailure) Error() string { return "with: " + e.err.Error() }

// random is the key of the guest's random numbers: nobody outside can guess
// them, and one extra draw does not shift what follows the next call. Before
// the step is entered (call -1) it is the same for all steps of a run.
func (a *attempt) random(call int) (key [32]byte) {
	mac := hmac.New(sha256.New, a.body.engine.book.Secret())
	scope := a.step.Name
	if call < 0 {
		scope = ""
	}
	for _, part := range []string{"pawl random", a.run.ID(), scope} {
		mac.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part))))
		mac.Write([]byte(part))
	}
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(int64(call))))
	copy(key[:], mac.Sum(nil))
	return key
}

// settle records how the attempt ended.
func (a *attempt) settle(ctx context.Context, exit *sandbox.Exit, err error) error {
	durably := context.WithoutCancel(ctx)
	var (
		undecided *host.UndecidedError
		diverged  *divergedError
		trap      *sandbox.Trap
		input     *inputFailure
		leaves    *leaving
	)
	if err == nil || errors.As(err, &trap) {
		if left := a.leftOver(); left != nil {
			err = left
		}
	}
	switch {
	case errors.As(err, &leaves):
		w := a.wait(leaves)
		return a.run.Wait(durably, &w)
	case errors.As(err, &undecided):
		return a.run.Park(durably, a.park(journal.ParkUnknown, a.calls-1, unknownSentence(undecided), undecided.Help))
	case errors.As(err, &diverged):
		return a.run.Park(durably, a.park(journal.ParkDiverged, diverged.call, diverged.Error(), ""))
	case errors.Is(err, ErrBudgetSpent):
		return a.run.ParkBudget(durably, a.calls-1, err)
	case errors.As(err, &trap):
		return a.fail(durably, &abi.Failure{Code: trap.Code, Message: trap.Message})
	case errors.As(err, &input):
		return a.fail(durably, &abi.Failure{Code: codeBadInput, Message: input.Error(), Retry: abi.Never})
	case err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errStopped)):
		return errStopped
	case err != nil:
		return err // ours, or the store's: the attempt stays open
	}
	if exit.Failure != nil {
		return a.fail(durably, exit.Failure)
	}
	if err := a.step.CheckOutput(exit.Output); err != nil {
		return a.fail(durably, &abi.Failure{Code: codeInvalidOutput, Message: err.Error(), Retry: abi.Never})
	}
	if sentence := a.orphaned(); sentence != "" {
		return a.run.Park(durably, a.park(journal.ParkOrphan, -1, sentence, ""))
	}
	return a.run.Complete(durably, exit.Output)
}

// unknownSentence tells a person what is not known, and why the machine stops.
func unknownSentence(e *host.UndecidedError) string {
	return fmt.Sprintf("it is not known what became of %s (key %s), last sent %s: %s",
		e.Tool, e.Key, e.Last.UTC().Format(time.RFC3339), e.Reason)
}

func (a *attempt) park(code string, call int, sentence, help string) *journal.Park {
	return &journal.Park{Step: a.index, Attempt: a.number, Code: code, Call: call, Sentence: sentence, Help: help}
}

// leftOver finds calls in the journal that the guest did not make before it
// ended. Calls of this attempt must all have been made; of earlier attempts,
// what stands of them must have been.
func (a *attempt) leftOver() (err error) {
	a.run.Read(func(s *journal.State) {
		calls := s.Steps[a.index].Calls
		for i := a.calls; i < len(calls); i++ {
			if calls[i].Attempt == a.number || calls[i].Stands() || calls[i].Receipt == nil {
				err = &divergedError{call: i, expected: calls[i].Tool, got: "the end of the step"}
				return
			}
		}
	})
	return err
}

// orphaned says which effects of earlier attempts the step has not claimed;
// empty for none. Its output is not recorded then: whoever decides lets the
// attempt replay to its end.
func (a *attempt) orphaned() (sentence string) {
	a.run.Read(func(s *journal.State) {
		orphans := s.Steps[a.index].Orphans()
		if len(orphans) == 0 {
			return
		}
		c := orphans[0]
		sentence = fmt.Sprintf("%s has ended without %s (key %s) of attempt %d: %s", a.step.Name, c.Grant, c.Key, c.Attempt, stands(c))
		if more := len(orphans) - 1; more > 0 {
			sentence += fmt.Sprintf(", and without %d more", more)
		}
	})
	return sentence
}

func stands(c *journal.Call) string {
	if c.Written() {
		return "it happened, and the step went another way"
	}
	return "it may have happened, and the step went another way"
}

// longestWait is the most that a step may ask to wait before its next attempt.
const longestWait = 365 * 24 * time.Hour

// fail records a failed attempt and when the next one is due, if any is.
func (a *attempt) fail(ctx context.Context, f *abi.Failure) error {
	rec := &journal.Fail{
		Step: a.index, Attempt: a.number, Code: f.Code, Message: f.Message, Kind: journal.Temporary,
		Retry: string(f.Retry), Call: -1, Detail: f.Detail,
	}
	if rec.Retry == "" {
		rec.Retry = string(abi.Again)
	}
	wait := time.Duration(min(f.AfterMS, longestWait.Milliseconds())) * time.Millisecond
	now := time.Now()
	var spent error
	a.run.Read(func(s *journal.State) {
		for i, c := range s.Steps[a.index].Calls {
			if c.Receipt != nil && i < a.calls && c.Status().Retryable() {
				rec.Call = i
				wait = max(wait, time.Duration(c.Receipt.After)*time.Millisecond)
			}
		}
		// With nothing to make again, a replay comes to the same end.
		if rec.Retry == string(abi.Never) || (rec.Retry == string(abi.Again) && rec.Call < 0) {
			rec.Kind = journal.Deterministic
			return
		}
		if spent = s.AllowAttempt(a.index, a.step.Retry.Attempts, now); spent == nil {
			rec.Next = now.Add(max(wait, a.backoff())).UnixMicro()
		}
	})
	err := a.run.Fail(ctx, rec)
	var budget *journal.BudgetError
	if err != nil || !errors.As(spent, &budget) || budget.Budget == journal.BudgetStepAttempts {
		return err
	}
	return a.run.ParkBudget(ctx, rec.Call, spent) // a budget of the run, not the step's own limit
}

// backoff is the wait after this attempt: it doubles from attempt to attempt.
func (a *attempt) backoff() time.Duration {
	wait := a.step.Retry.Backoff
	for i := 1; i < a.number && wait < a.step.Retry.MaxBackoff; i++ {
		wait *= 2
	}
	return min(wait, a.step.Retry.MaxBackoff)
}
