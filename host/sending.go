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

// Codes that the protocol itself gives.
const (
	codeInterrupted = "interrupted" // not known, because the process ended
	codeNotSent     = "not_sent"
	codeNoAnswer    = "no_answer"
	codePanic       = "panic"
	codeAbsent      = "absent" // the receiver does not know the key
)

// record tells the ledger of the try to come. From then on another process
// would count it as sent.
func (p *pursuit) record(ctx context.Context) (Barrier, error) {
	at := time.Now()
	p.call.Try = p.tries + 1
	barrier, err := p.tell(ctx, at)
	if err != nil {
		return nil, err
	}
	p.tries, p.sent, p.last = p.tries+1, p.sent+1, at
	if p.first.IsZero() {
		p.first = at
	}
	p.answer, p.late = Answer{}, false
	return barrier, nil
}

func (p *pursuit) tell(ctx context.Context, at time.Time) (Barrier, error) {
	if p.tries == 0 {
		return p.ledger.Intend(ctx, Intent{Call: p.call, Class: p.contract.Effect, Contract: p.contract, At: at})
	}
	return p.ledger.Retry(ctx, Retry{Call: p.call, At: at, Last: p.answer})
}

// waits reports whether a try's record must be durable before it is sent: it
// may change something, or it costs something that a crash must not win back.
func (p *pursuit) waits() bool { return p.contract.Effect != Read || p.contract.Charged() }

// send sends what was recorded and keeps the answer. Its deadline counts from
// the record, the only time that a later process knows: "last + Timeout" is
// then the end of this try for everybody.
func (p *pursuit) send(ctx context.Context) {
	deadline := p.last.Add(p.contract.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if ctx.Err() != nil {
		p.answer = Answer{Outcome: OutcomeNotApplied, Code: codeNotSent, Message: "not sent, because its record took the whole time-out"}
	} else {
		p.answer = try(ctx, p.tool, p.call)
	}
	p.answered = time.Now()
	p.late = p.answer.Outcome == OutcomeUnknown && !p.answered.Before(deadline)
}

// try is the one place where a tool is told to send.
func try(ctx context.Context, tool Tool, c *Call) (a Answer) {
	defer func() {
		if v := recover(); v != nil {
			a = Answer{Code: codePanic, Message: panicMessage(v)}
		}
	}()
	a = tool.Try(ctx, c)
	if a.Outcome > OutcomeNotApplied {
		a.Outcome = OutcomeUnknown
	}
	if a.Code == CodeStopped {
		a.Code = "" // says something that only the protocol can say
	}
	return a
}

func panicMessage(v any) string { return fmt.Sprintf("the tool panicked: %v", v) }
