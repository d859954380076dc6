package host

import (
	"context"
	"fmt"
	"time"
)

// CodeStopped is the code of a receipt that no guest has been given: the
// program stopped, or a budget was spent, while the call was known not to be
// applied. Whoever keeps the receipts has the call made again.
const CodeStopped = "stopped"

// Codes that the protocol itself gives. No tool can: see reserved.
const (
	codeInterrupted = "interrupted" // not known, because the process ended
	codeNotSent     = "not_sent"
	codeNoAnswer    = "no_answer"
	codePanic       = "panic"
	codeAbsent      = "absent"  // the receiver does not know the key
	codeHanging     = "hanging" // the tool has not returned
	codeUnknown     = "outcome_unknown"
)

// reserved reports whether a code says something that only the protocol can
// say, and on which later entries rely.
func reserved(code string) bool {
	switch code {
	case CodeStopped, codeInterrupted, codeAbsent, codeHanging:
		return true
	}
	return false
}

// claim makes this the one live send of the key. If another one is live, it
// waits for that to return.
func (p *pursuit) claim(ctx context.Context) error {
	for {
		busy := p.sends.begin(p.call.Key)
		if busy == nil {
			return nil
		}
		if err := p.outlast(ctx, busy); err != nil {
			return err
		}
	}
}

// release gives up a claim that was not sent with.
func (p *pursuit) release() { p.sends.end(p.call.Key, time.Time{}) }

// record tells the ledger of the try to come. From then on another process
// would count it as sent.
func (p *pursuit) record(ctx context.Context) (Barrier, error) {
	at := time.Now()
	p.call.Try = p.tries + 1
	barrier, err := p.tell(ctx, at)
	if err != nil {
		return nil, err
	}
	p.tries, p.sent, p.last, p.receiver = p.tries+1, p.sent+1, at, p.to
	if p.first.IsZero() {
		p.first = at
	}
	p.answer, p.late, p.silent, p.left, p.hung = Answer{}, false, 0, false, false
	return barrier, nil
}

func (p *pursuit) tell(ctx context.Context, at time.Time) (Barrier, error) {
	if p.tries == 0 {
		return p.ledger.Intend(ctx, Intent{Call: p.call, Class: p.contract.Effect, Contract: p.contract, At: at, Receiver: p.to})
	}
	return p.ledger.Retry(ctx, Retry{Call: p.call, At: at, Last: p.answer, Receiver: p.to})
}

// waits reports whether a try's record must be durable before it is sent: it
// may change something, or it costs something that a crash must not win back.
func (p *pursuit) waits() bool { return p.contract.Effect != Read || p.contract.Charged() }

// send sends what was recorded and keeps the answer. Its deadline counts from
// the record, the only time that a later process knows: "last + Timeout" is
// then the end of this try for everybody.
func (p *pursuit) send(ctx context.Context) {
	deadline := p.last.Add(p.contract.Timeout)
	switch {
	case ctx.Err() != nil:
		p.release()
		p.answer = Answer{Outcome: OutcomeNotApplied, Code: codeNotSent, Message: "not sent, because the program stopped"}
	case !time.Now().Before(deadline):
		p.release()
		p.answer = Answer{Outcome: OutcomeNotApplied, Code: codeNotSent, Message: "not sent, because its record took the whole time-out"}
	default:
		p.answer = p.try(ctx, deadline)
	}
	p.answered = time.Now()
	p.notBefore = p.answered.Add(p.answer.RetryAfter)
	p.late = p.answer.Outcome == OutcomeUnknown && !p.answered.Before(deadline)
}

// try is the one place where a tool is told to send. The key stays claimed until
// the tool returns.
func (p *pursuit) try(ctx context.Context, deadline time.Time) Answer {
	a, ok := flight[Answer]{
		call: p.call, deadline: deadline, do: p.tool.Try, broken: brokenTry,
		landed: func() {
			var quiet time.Time
			if now := time.Now(); now.After(deadline) && p.verifier != nil {
				quiet = now.Add(p.contract.Settle)
			}
			p.sends.end(p.call.Key, quiet)
		},
	}.fly(ctx)
	if !ok {
		return Answer{Code: codeHanging, Message: fmt.Sprintf("no answer within %s, and the tool has not returned", p.contract.Timeout)}
	}
	if a.Outcome > OutcomeNotApplied {
		a.Outcome = OutcomeUnknown
	}
	if reserved(a.Code) {
		a.Code = ""
	}
	return a
}

func brokenTry(message string) Answer { return Answer{Code: codePanic, Message: message} }
