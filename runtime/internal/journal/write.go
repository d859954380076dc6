package journal

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// Refuse records a call that never becomes an intent, with its charge, and
// returns when: a replay tells the guest the same time.
func (r *Run) Refuse(step, attempt, index int, grant, tool string, hash host.Hash, status abi.Status, code, message string) (time.Time, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.state.allowCall(nil, time.Now()); err != nil {
		return time.Time{}, err
	}
	_, err := r.append(nil, nil, Record{Refusal: &Refusal{
		Step: step, Attempt: attempt, Call: index, Grant: grant, Tool: tool, Hash: hash[:],
		Status: uint32(status), Code: code, Message: message,
	}})
	return r.state.Updated, err
}

// Begin begins the next attempt of the current step and waits until its
// charge is durable: an attempt that kills the process must not be free.
func (r *Run) Begin(ctx context.Context) error {
	r.mu.Lock()
	step := r.state.Current
	wait, err := r.append(nil, nil, Record{Begin: &Begin{Step: step, Attempt: r.state.Steps[step].Attempts + 1}})
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}

// Reenter charges the re-entry of the open attempt after a crash (nothing,
// after a park or a stop in good order) and waits until that is durable. It
// reports whether there was a charge. A spent budget is a [BudgetError].
func (r *Run) Reenter(ctx context.Context) (charged bool, err error) {
	r.mu.Lock()
	s := r.state
	rec := &Recover{Step: s.Current, Attempt: s.Steps[s.Current].Attempts, Position: s.position(), Free: s.Clean || r.spared}
	r.spared = false
	if !rec.Free {
		err = s.allowRecovery()
	}
	var wait *barrier
	if err == nil {
		wait, err = r.append(nil, nil, Record{Recover: rec})
	}
	r.mu.Unlock()
	if err != nil {
		return false, err
	}
	return !rec.Free, wait.Wait(ctx)
}

// Complete ends the current step and begins the one after it in the same
// batch; if a budget does not allow that, the run parks there instead. The end
// of the last step ends the run, and is waited for.
func (r *Run) Complete(ctx context.Context, output []byte) error {
	r.mu.Lock()
	wait, last, err := r.complete(output)
	r.mu.Unlock()
	if err != nil || !last {
		return err
	}
	defer r.book.opened.end(r.id)
	return wait.Wait(ctx)
}

func (r *Run) complete(output []byte) (wait *barrier, last bool, err error) {
	s := r.state
	step := s.Current
	body, err := r.chain.Put(output)
	if err != nil {
		return nil, false, err
	}
	ended := Event{Kind: CheckpointDurable, Step: s.Steps[step].Name, Attempt: s.Steps[step].Attempts, Call: -1}
	durable := []Event{ended, ended}
	durable[1].Kind = StepCompleted
	records := []Record{{Done: &Done{Step: step, Attempt: s.Steps[step].Attempts, Output: body}}}
	if last = step+1 == len(s.Steps); last {
		durable = append(durable, Event{Kind: Completed, Call: -1})
	} else {
		records = append(records, r.beginNext(step+1))
	}
	wait, err = r.append(nil, durable, records...)
	return wait, last, err
}

// beginNext is the begun attempt of the step after, or the park that a spent
// budget asks for.
func (r *Run) beginNext(step int) Record {
	err := r.state.AllowAttempt(step, 1, time.Now())
	if err == nil {
		return Record{Begin: &Begin{Step: step, Attempt: 1}}
	}
	return Record{Park: budgetPark(step, 0, -1, err)}
}

// budgetPark is the park that a spent budget asks for.
func budgetPark(step, attempt, call int, err error) *Park {
	p := &Park{Step: step, Attempt: attempt, Call: call, Code: ParkBudget, Sentence: err.Error()}
	var spent *BudgetError
	if errors.As(err, &spent) {
		switch spent.Budget {
		case BudgetDeadline:
			p.Code = ParkDeadline
		case BudgetRecoveries:
			p.Code = ParkQuarantined
		}
	}
	return p
}

// ParkBudget parks the run because of a spent budget.
func (r *Run) ParkBudget(ctx context.Context, call int, spent error) error {
	r.mu.Lock()
	step := r.state.Current
	attempt := r.state.Steps[step].Attempts
	r.mu.Unlock()
	return r.Park(ctx, budgetPark(step, attempt, call, spent))
}

// Park parks the run until a person acts, and waits until that is durable.
func (r *Run) Park(ctx context.Context, p *Park) error {
	name := r.stepName(p.Step)
	wait, err := r.write(nil, []Event{
		{Kind: CheckpointDurable, Step: name, Attempt: p.Attempt, Call: p.Call},
		{Kind: Parked, Step: name, Attempt: p.Attempt, Call: p.Call, Code: p.Code, Message: p.Sentence},
	}, Record{Park: p})
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}

// Fail ends the open attempt of the current step as failed, and waits until
// that is durable.
func (r *Run) Fail(ctx context.Context, f *Fail) error {
	name := r.stepName(f.Step)
	e := Event{Kind: AttemptFailed, Step: name, Attempt: f.Attempt, Call: f.Call, Code: f.Code, Message: f.Message}
	if f.Next > 0 {
		e.Due = fromMicros(f.Next)
	}
	wait, err := r.write(nil, []Event{{Kind: CheckpointDurable, Step: name, Attempt: f.Attempt, Call: f.Call}, e}, Record{Fail: f})
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}

// Stop leaves the open attempt in good order, and waits until that is durable.
func (r *Run) Stop(ctx context.Context) error {
	r.mu.Lock()
	step := r.state.Current
	attempt := r.state.Steps[step].Attempts
	name := r.state.Steps[step].Name
	wait, err := r.append(nil, []Event{{Kind: Stopped, Step: name, Attempt: attempt, Call: -1}},
		Record{Stop: &Stop{Step: step, Attempt: attempt}})
	r.mu.Unlock()
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}

func (r *Run) stepName(step int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Steps[step].Name
}
