package host

import (
	"context"
	"fmt"
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
	if why := p.forbidden(); why != "" {
		return nil, p.undecided("%s, and it cannot be asked", why)
	}
	return nil, nil
}

// inquire asks until the answer allows to go on.
func (p *pursuit) inquire(ctx context.Context) (*Receipt, error) {
	for {
		quiet, live := p.quiet()
		settled := !live && time.Now().After(quiet)
		v := p.ask(ctx)
		if v.Kind == Found {
			r := receiptOf(Answer{Outcome: OutcomeApplied, Response: v.Response, Units: v.Units})
			r.Verified = true
			return p.settle(ctx, r)
		}
		if v.CredentialsRefused {
			return nil, p.paused(v.RetryAfter)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var done bool
		var err error
		if v.Kind == NoAnswer {
			done, err = p.unanswered(ctx, v)
		} else if done, err = p.absent(settled); !done && err == nil {
			err = p.listen(ctx, quiet, live)
		}
		if done || err != nil {
			return nil, err
		}
	}
}

// listen waits until an absent can be more than "not yet": not before the send
// has returned, and then has had its time.
func (p *pursuit) listen(ctx context.Context, quiet time.Time, live bool) error {
	if live {
		return p.outlast(ctx, p.sends.Returned(p.call.Key))
	}
	return p.pause(ctx, quiet.Add(1))
}

// unanswered weighs that the receiver did not say, and waits until it may be
// asked again. done says that the call may be sent instead: asking is the kinder
// way, the same key the other.
func (p *pursuit) unanswered(ctx context.Context, v Verdict) (done bool, err error) {
	if p.repeats() && p.sent < p.limit {
		return true, nil
	}
	if p.silent++; p.silent >= max(leastAsks, p.contract.Tries) {
		why := p.moved()
		if why != "" {
			why += "; "
		}
		return false, p.undecided("%sthe receiver was asked %d times and does not say (%s)", why, p.silent, v.Code)
	}
	return false, p.pause(ctx, time.Now().Add(max(p.backoff(p.silent), v.RetryAfter)))
}

// absent weighs that the receiver did not know the key. done says that the call
// may be sent, or given up if its tries are used up; without it and an error the
// answer says nothing yet.
func (p *pursuit) absent(settled bool) (done bool, err error) {
	repeats := p.repeats()
	switch {
	case p.moved() != "":
		return false, p.undecided("%s", p.moved())
	case settled && (p.contract.Effect == Verify || repeats):
		p.unknown = false
		p.answer = Answer{Outcome: OutcomeNotApplied, Code: codeAbsent, Message: "the receiver does not know the key"}
		p.late = false
		p.grant()
		return true, nil
	case repeats:
		// It may still arrive, but the same key does no harm.
		p.grant()
		return p.sent < p.limit, nil
	case !settled:
		return false, nil
	case p.contract.Effect == Keyed:
		return false, p.undecided("the receiver does not know the key, but may have forgotten it")
	}
	return false, p.undecided("the receiver does not know the key, but its class is once: the machine does not repeat it")
}

// grant allows one sending more than the contract's tries, once: who asked and
// was told "absent" may act on it.
func (p *pursuit) grant() {
	if p.sent >= p.limit && !p.granted {
		p.granted, p.limit = true, p.sent+1
	}
}

// forbidden says why an unknown call must not be sent again as it is; empty if
// it may.
func (p *pursuit) forbidden() string {
	why := p.moved()
	switch {
	case why != "", p.repeats():
	case p.contract.Effect == Verify:
		why = "its class is verify: it is only repeated on its receiver's word"
	case p.contract.Effect != Keyed:
		why = "its class is once: the machine does not repeat it"
	default:
		why = "the receiver may have forgotten the key"
	}
	return why
}

// repeats reports whether the same key does no harm.
func (p *pursuit) repeats() bool {
	return p.contract.Effect == Keyed && p.remembered() && p.moved() == ""
}

// moved says that somebody else receives the call now than its last try; empty
// if not. Who never saw the key cannot say what became of it, and would not know
// a second sending for one.
func (p *pursuit) moved() string {
	if p.receiver == "" || p.to == p.receiver {
		return ""
	}
	now := p.to
	if now == "" {
		now = "not known"
	}
	return fmt.Sprintf("it was sent to %s, and its receiver is now %s", p.receiver, now)
}

// quiet is when the receiver can no longer apply what was sent. live says that
// this is not known yet, because a send has not returned.
func (p *pursuit) quiet() (at time.Time, live bool) {
	at = p.last.Add(p.contract.Timeout + p.contract.Settle)
	late, live := p.sends.state(p.call.Key, p.hung, p.contract.Settle)
	if late.After(at) {
		at = late
	}
	return at, live
}

// remembered reports whether the receiver still knows the key of the first try
// when it applies what is sent now. In reserve is what that may take, and at
// least a tenth of the window for clocks that differ.
func (p *pursuit) remembered() bool {
	window := p.contract.KeyWindow
	if window == NoKeyWindow {
		return false
	}
	reserve := max(window/10, p.contract.Timeout+p.contract.Settle)
	// The wall clock goes on while the machine sleeps, the other one when the
	// wall clock is set back: the receiver's memory follows neither.
	now := time.Now().Round(0)
	age := max(time.Since(p.first), now.Sub(p.first.Round(0)))
	// A clock that says that the last try is yet to come is no measure of how old
	// the first one is.
	return -window/10 <= age && age <= window-reserve && p.ahead <= window/10
}

// ask is the one place where a tool is told to ask.
func (p *pursuit) ask(ctx context.Context) Verdict {
	v, ok := flight[Verdict]{
		call: p.call, deadline: time.Now().Add(p.contract.Timeout), do: p.verifier.Verify, broken: brokenVerify,
	}.fly(ctx)
	if !ok {
		v = Verdict{Code: codeHanging, Message: fmt.Sprintf("no answer to the query within %s, and the tool has not returned", p.contract.Timeout)}
	}
	if v.Kind > Absent {
		v.Kind = NoAnswer
	}
	if v.Kind == NoAnswer && v.Code == "" {
		v.Code = codeNoAnswer
	}
	p.ledger.Asked(ctx, p.answer, v)
	return v
}

func brokenVerify(message string) Verdict { return Verdict{Code: codePanic, Message: message} }
