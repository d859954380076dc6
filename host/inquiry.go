package host

import (
	"context"
	"time"
)

// leastAsks is how often a receiver that gives no answer is asked at least,
// before a person is; a contract with more tries asks that often.
const leastAsks = 3

// resolve finds out what became of unknown tries, by asking where that can be
// done. Without a receipt or an error the call may be sent again.
func (p *pursuit) resolve(ctx context.Context) (*Receipt, error) {
	if p.verifier != nil {
		return p.inquire(ctx)
	}
	switch {
	case p.contract.Effect == Verify:
		return nil, p.undecided("its class is verify, but the tool cannot be asked")
	case p.contract.Effect != Keyed:
		return nil, p.undecided("its class is once: the machine does not repeat it, and the receiver cannot be asked")
	case !p.remembered():
		return nil, p.undecided("the receiver may have forgotten the key, and it cannot be asked")
	}
	return nil, nil
}

// inquire asks until the answer allows to go on.
func (p *pursuit) inquire(ctx context.Context) (*Receipt, error) {
	for silent := 0; ; {
		at := time.Now()
		v := p.ask(ctx)
		if v.Kind == Found {
			r := receiptOf(Answer{Outcome: OutcomeApplied, Response: v.Response, Units: v.Units})
			r.Verified = true
			return p.settle(ctx, r)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// When to ask again, if the answer does not end the asking.
		var again time.Time
		if v.Kind == Absent {
			if done, err := p.absent(at); done {
				return nil, err
			}
			again = p.settled().Add(1)
		} else {
			if p.contract.Effect == Keyed && p.remembered() && p.sent < p.limit {
				return nil, nil // asking is the kinder way, the same key the other
			}
			if silent++; silent >= max(leastAsks, p.contract.Tries) {
				return nil, p.undecided("the receiver was asked %d times and does not say (%s)", silent, v.Code)
			}
			again = time.Now().Add(max(p.backoff(silent), v.RetryAfter))
		}
		if err := sleepUntil(ctx, again); err != nil {
			return nil, err
		}
	}
}

// absent weighs that the receiver, asked at a time, did not know the key. done
// is false if that says nothing yet.
func (p *pursuit) absent(asked time.Time) (done bool, err error) {
	settled := asked.After(p.settled())
	switch {
	case p.contract.Effect == Verify && settled, p.contract.Effect == Keyed && p.remembered() && settled:
		p.unknown = false
		p.answer = Answer{Outcome: OutcomeNotApplied, Code: codeAbsent, Message: "the receiver does not know the key"}
		p.late = false
		p.grant()
		return true, nil
	case p.contract.Effect == Keyed && p.remembered():
		// It may still arrive, but the same key does no harm.
		p.grant()
		return p.sent < p.limit, nil
	case !settled:
		return false, nil
	case p.contract.Effect == Keyed:
		return true, p.undecided("the receiver does not know the key, but may have forgotten it")
	}
	return true, p.undecided("the receiver does not know the key, but its class is once: the machine does not repeat it")
}

// grant allows one sending more than the contract's tries, once: who asked and
// was told "absent" may act on it.
func (p *pursuit) grant() {
	if p.sent >= p.limit && !p.granted {
		p.granted, p.limit = true, p.sent+1
	}
}

// settled is when the receiver can no longer apply what was sent last.
func (p *pursuit) settled() time.Time {
	return p.last.Add(p.contract.Timeout + p.contract.Settle)
}

// remembered reports whether the receiver still knows the key of the first
// try, with a tenth of its window in reserve for clocks that differ.
func (p *pursuit) remembered() bool {
	window := p.contract.KeyWindow
	if window == NoKeyWindow {
		return false
	}
	// The wall clock goes on while the machine sleeps, the other one when the
	// wall clock is set back: the receiver's memory follows neither.
	age := max(time.Since(p.first), time.Now().Round(0).Sub(p.first.Round(0)))
	return -window/10 <= age && age <= window-window/10
}

// ask is the one place where a tool is told to ask.
func (p *pursuit) ask(ctx context.Context) Verdict {
	askCtx, cancel := context.WithTimeout(ctx, p.contract.Timeout)
	defer cancel()
	v := verify(askCtx, p.verifier, p.call)
	p.ledger.Asked(ctx, p.answer, v)
	return v
}

func verify(ctx context.Context, tool Verifier, c *Call) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = Verdict{Code: codePanic, Message: panicMessage(r)}
		}
	}()
	v = tool.Verify(ctx, c)
	if v.Kind == NoAnswer && v.Code == "" {
		v.Code = codeNoAnswer
	}
	return v
}
