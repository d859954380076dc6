package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// Do carries a call from its intent to its receipt. past is zero for a new
// call; for one that was begun and not settled (after a crash or a park) its
// tries have an unknown outcome, which is found out as the tool's class allows;
// after a [WaitError] it goes on where it was.
//
// It returns the receipt that it gave to [Ledger.Settle], or else
//   - an [*UndecidedError]: a person has to decide (a call with SeeUnknown has
//     a receipt that says unknown instead; no other has);
//   - a [*WaitError]: it has to wait longer than its Patience;
//   - the error of the ledger, unchanged: nothing was sent after it;
//   - the error of ctx, if that ended before the outcome was known: nothing is
//     settled (but see [CodeStopped]), and a later Do with the call's past goes on.
//
// Before anything is sent its record is durable, except for reads that charge
// nothing. A call must be in one Do at a time; different calls may be made
// concurrently, also with one key: of those that share [Sends] one is sent at a
// time. Do sets Try in c, and Sent if it is nil; tools are given a copy. It does
// not ask a [Checker] (see [Check]).
func Do(ctx context.Context, tool Tool, l Ledger, c *Call, past Past) (*Receipt, error) {
	if c.Sent == nil {
		c.Sent = func() {}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := newPursuit(tool, l, c, past)
	r, err := p.pursue(ctx)
	var undecided *UndecidedError
	if c.SeeUnknown && errors.As(err, &undecided) {
		return p.settle(ctx, Receipt{Status: abi.Unknown, Code: codeUnknown, Message: cut(undecided.Reason)})
	}
	return r, err
}

// pursuit is one entry of a call into the protocol.
type pursuit struct {
	tool     Tool
	verifier Verifier // nil if the tool cannot be asked
	ledger   Ledger
	call     *Call
	contract Contract
	sends    *Sends
	to       string // who receives the call now; empty if not known

	tries       int           // recorded sendings over all processes
	first, last time.Time     // when the first and the last of them were recorded
	receiver    string        // who the last of them went to; empty if not known
	ahead       time.Duration // how far the last of them was ahead of this clock when it was taken over

	sent    int // sendings that count against the contract's tries
	limit   int // how many there may be
	granted bool
	silent  int // queries without an answer since the last sending

	// unknown says that a sending may have been applied and no answer has
	// settled that. Never true for a read.
	unknown   bool
	answer    Answer    // to the last sending
	answered  time.Time // when it came
	notBefore time.Time // the receiver asked not to be sent to before
	late      bool      // the last sending had no answer in time
	hung      bool      // a sending of an earlier entry had not returned when that left
	left      bool      // left open as known not to be applied; nothing was sent since
}

func newPursuit(tool Tool, l Ledger, c *Call, past Past) *pursuit {
	p := &pursuit{tool: tool, ledger: l, call: c, contract: tool.Contract().WithDefaults(), sends: c.Sends, to: receiverOf(tool)}
	if p.sends == nil {
		p.sends = &Sends{}
	}
	p.limit = p.contract.Tries
	if verifier, ok := tool.(Verifier); ok && p.contract.Verifies && p.contract.Effect != Read {
		p.verifier = verifier
	}
	p.first = past.First
	if past.Tries > 0 {
		p.remember(past)
	}
	if past.Waited != nil {
		p.resume(*past.Waited)
	}
	return p
}

// remember takes over what another entry left behind.
func (p *pursuit) remember(past Past) {
	p.tries, p.first, p.last, p.receiver = past.Tries, past.First, past.Last, past.Receiver
	p.call.Try = past.Tries
	// Whatever the clocks say, the last sending was before this moment.
	now := time.Now()
	p.ahead = p.last.Round(0).Sub(now.Round(0))
	if p.last.IsZero() || p.last.After(now) {
		p.last = now
	}
	p.unknown = p.contract.Effect != Read
	p.answer = Answer{Code: codeInterrupted, Message: "the process ended before the outcome was known"}
}

// pursue sends and asks until the call is settled, or nothing more can be done
// now.
func (p *pursuit) pursue(ctx context.Context) (*Receipt, error) {
	for {
		if p.unknown {
			if r, err := p.resolve(ctx); r != nil || err != nil {
				return r, err
			}
		}
		if p.sent >= p.limit {
			return p.giveUp(ctx)
		}
		if r, err := p.once(ctx); r != nil || err != nil {
			return r, err
		}
	}
}

// once sends the call once and takes the answer. Without a receipt or an error
// the call is to go on.
func (p *pursuit) once(ctx context.Context) (*Receipt, error) {
	if err := p.pause(ctx, p.next()); err != nil {
		return p.stop(ctx, err)
	}
	if err := p.claim(ctx); err != nil {
		return p.stop(ctx, err)
	}
	if p.unknown && p.forbidden() != "" {
		p.release()
		return nil, nil // the wait outlasted the key
	}
	barrier, err := p.record(ctx)
	if err == nil && p.waits() {
		err = barrier.Wait(ctx)
	}
	if err != nil {
		p.release()
		return p.stop(ctx, err)
	}
	p.send(ctx)
	return p.weigh(ctx)
}

// next is when the next sending may be: after the back-off, and not before the
// receiver said.
func (p *pursuit) next() time.Time {
	if p.answered.IsZero() {
		return p.notBefore
	}
	at := p.answered.Add(p.backoff(p.sent))
	if p.notBefore.After(at) {
		at = p.notBefore
	}
	return at
}

// weigh asks the two questions about the last answer: what became of this try,
// and does it settle earlier ones.
func (p *pursuit) weigh(ctx context.Context) (*Receipt, error) {
	switch p.answer.Outcome {
	case OutcomeApplied:
		// True of this try, whatever became of earlier ones: the effect is there.
		return p.settle(ctx, receiptOf(p.answer))
	case OutcomeRejected:
		if !p.unknown || p.answer.Settles {
			return p.settle(ctx, receiptOf(p.answer))
		}
	case OutcomeNotApplied:
		// Speaks of this try alone: earlier unknown ones stay so.
		if p.answer.CredentialsRefused {
			p.sent--
			return nil, p.paused(p.answer.RetryAfter)
		}
	default:
		p.unknown = p.contract.Effect != Read
	}
	if err := ctx.Err(); err != nil {
		return p.stop(ctx, err)
	}
	return nil, nil
}

// giveUp ends a call whose tries are used up.
func (p *pursuit) giveUp(ctx context.Context) (*Receipt, error) {
	if p.unknown {
		return nil, p.undecided("no answer settled it, and its %d tries are used up", p.sent)
	}
	return p.settle(ctx, p.unapplied())
}

// stop ends an entry that cannot go on, because ctx has ended or the ledger
// does not allow another try. A call that is known not to be applied, while no
// later entry could find that out, is settled as such, with [CodeStopped]:
// otherwise a program that is stopped during a back-off would leave a question
// for a person. The step is not told: its attempt makes the call again. A wait
// leaves it open, because Waited says that it is not applied.
func (p *pursuit) stop(ctx context.Context, err error) (*Receipt, error) {
	var wait *WaitError
	if p.tries == 0 || p.unknown || p.left || p.recoverable() || errors.As(err, &wait) {
		return nil, err
	}
	why := "before it was sent"
	if p.answer.Code != "" {
		why = "after " + p.answer.Code
	}
	p.answer = Answer{Outcome: OutcomeNotApplied, Code: CodeStopped, Message: "stopped " + why}
	if _, settleErr := p.settle(ctx, p.unapplied()); settleErr != nil {
		return nil, errors.Join(err, settleErr)
	}
	return nil, err
}

// recoverable reports whether a later entry can find out by itself what became
// of a call that is left open.
func (p *pursuit) recoverable() bool {
	switch p.contract.Effect {
	case Read, Verify:
		return true
	case Keyed:
		return p.contract.KeyWindow != NoKeyWindow
	}
	return false
}

func (p *pursuit) undecided(reason string, args ...any) error {
	reason = fmt.Sprintf(reason, args...)
	if _, live := p.quiet(); live {
		reason += "; its last send has not returned yet"
	}
	return &UndecidedError{
		Tool: p.call.Tool, Class: p.contract.Effect, Key: p.call.Key,
		Tries: p.tries, Last: p.last, Reason: reason,
		Help: strings.ReplaceAll(p.contract.Help, "{key}", p.contract.KeyText(p.call.Key)),
	}
}

// backoff is the wait after n of something: it doubles from n to n.
func (p *pursuit) backoff(n int) time.Duration {
	wait := p.contract.Backoff
	for ; n > 1 && wait < p.contract.MaxBackoff; n-- {
		wait *= 2
	}
	return min(wait, p.contract.MaxBackoff)
}
