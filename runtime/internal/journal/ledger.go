package journal

import (
	"context"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// CallLedger is the [host.Ledger] of one call.
type CallLedger struct {
	run  *Run
	step int
	// grant is the tool's name as the step calls it.
	grant      string
	call       *host.Call
	contract   host.Contract
	occurrence uint32
	began      time.Time
	hold       *Hold    // of the business key; nil for none
	settled    *barrier // of the receipt
}

var _ host.Ledger = (*CallLedger)(nil)

// Ledger returns the ledger of a call of the open attempt of step.
func (r *Run) Ledger(step int, grant string, c *host.Call, contract host.Contract, occurrence uint32) *CallLedger {
	return &CallLedger{run: r, step: step, grant: grant, call: c, contract: contract, occurrence: occurrence, began: time.Now()}
}

// Intend implements [host.Ledger]: budget check and charge are part of the
// record, so a crash cannot win a charge back.
func (l *CallLedger) Intend(_ context.Context, i host.Intent) (host.Barrier, error) {
	r := l.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.state.allowCall(l.contract.Units, time.Now()); err != nil {
		return nil, err
	}
	body, err := r.chain.Put(i.Call.Body)
	if err != nil {
		return nil, err
	}
	with := new(kv.Batch)
	var business string
	if l.hold != nil {
		l.take(with)
		business = cut(l.hold.Key, maxCode)
	}
	return r.append(with, []Event{l.event(IntentDurable)}, Record{Intent: &Intent{
		Step: l.step, Attempt: l.call.Attempt, Call: l.call.Index, Grant: l.grant, Tool: l.call.Tool,
		Class: uint8(i.Class), Key: l.call.Key[:], KeyVersion: host.KeyVersion, Hash: l.call.Hash[:],
		Type: l.call.Type, Request: body, Occurrence: l.occurrence, Generation: l.hold.Generation(),
		Charged: i.Contract.Charged(), Receiver: cut(i.Receiver, maxMessage), Shown: shown(l.call),
		SeeUnknown: l.call.SeeUnknown, First: l.sentBefore(), Business: business,
	}})
}

// Retry implements [host.Ledger].
func (l *CallLedger) Retry(_ context.Context, t host.Retry) (host.Barrier, error) {
	r := l.run
	notice := l.event(Retrying)
	notice.Try, notice.Code, notice.Message = t.Call.Try-1, t.Last.Code, t.Last.Message
	r.Emit(notice)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.state.allowCall(l.contract.Units, time.Now()); err != nil {
		return nil, err
	}
	return r.append(nil, []Event{l.event(IntentDurable)}, Record{Retry: &Retry{
		Step: l.step, Attempt: l.call.Attempt, Call: l.call.Index, Try: t.Call.Try,
		Code: t.Last.Code, Message: t.Last.Message, Receiver: cut(t.Receiver, maxMessage),
	}})
}

// Asked implements [host.Ledger].
func (l *CallLedger) Asked(_ context.Context, last host.Answer, v host.Verdict) {
	notice := l.event(Asked)
	notice.Code, notice.Message = last.Code, last.Message
	switch v.Kind {
	case host.Found:
		notice.Outcome = host.OutcomeApplied
	case host.Absent:
		notice.Outcome = host.OutcomeNotApplied
	default:
		notice.Code, notice.Message = v.Code, v.Message
	}
	l.run.Emit(notice)
}

// Settle implements [host.Ledger]. The receipt of a call that nobody can be
// asked about, or that booked money, does not linger.
func (l *CallLedger) Settle(_ context.Context, rec host.Receipt) error {
	r := l.run
	answered, durable := l.event(Answered), l.event(ReceiptDurable)
	for _, e := range []*Event{&answered, &durable} {
		e.Outcome, e.Status, e.Code, e.Message = rec.Outcome, rec.Status, rec.Code, rec.Message
	}
	r.Emit(answered)
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := r.chain.Put(rec.Response.Body)
	if err != nil {
		return err
	}
	with := &kv.Batch{Urgent: l.contract.Effect == host.Once || l.contract.Charged()}
	if l.hold != nil {
		l.give(with, rec.Outcome)
	}
	l.settled, err = r.append(with, []Event{durable}, Record{Receipt: &Receipt{
		Step: l.step, Attempt: l.call.Attempt, Call: l.call.Index, Outcome: uint8(rec.Outcome),
		Status: uint32(rec.Status), Answer: rec.Response.Status, Type: rec.Response.Type, Response: body,
		Code: rec.Code, Message: rec.Message, After: rec.After.Milliseconds(), Units: rec.Units,
		At: micros(rec.At), Verified: rec.Verified,
	}})
	return err
}

// SentEvent is what the tool announces right before the first byte leaves.
func (l *CallLedger) SentEvent() Event { return l.event(Sent) }

func (l *CallLedger) event(kind EventKind) Event {
	return Event{
		Kind: kind, Step: l.run.state.Start.Steps[l.step], Attempt: l.call.Attempt, Call: l.call.Index,
		Tool: l.grant, Use: l.call.Tool, Key: l.call.Key, Class: l.contract.Effect, Try: l.call.Try, Tries: l.contract.Tries, Elapsed: time.Since(l.began),
	}
}

func shown(c *host.Call) []byte {
	if c.Shown == (host.Hash{}) {
		return nil
	}
	return c.Shown[:]
}

// sentBefore is when another call may have sent the key before, microseconds;
// 0 if none has.
func (l *CallLedger) sentBefore() int64 {
	if first := l.hold.First(); !first.IsZero() {
		return micros(first)
	}
	return 0
}
