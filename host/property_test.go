package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"pgregory.net/rapid"
)

// TestPromisesHoldForAnyScript lets tools and receivers say anything at any
// time, and checks what the classes promise against the diary alone.
//
// Seen red with each of these broken: unknown given as a receipt, a send after
// an applied, after a rejected that settles and after a found, a second send
// for once, an early absent taken for verify, a barrier left out, a key used
// after its window, an unknown forgotten after refused credentials.
func TestPromisesHoldForAnyScript(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlay(rt)
		j := &judge{t: rt}
		var r *host.Receipt
		var err error
		synctest.Test(t, func(*testing.T) { // the judge stays outside: rapid fails by panicking
			j.s, j.past = p.stage()
			ctx := context.Background()
			if p.ends {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, p.end)
				defer cancel()
			}
			r, err = j.s.do(ctx, j.past)
		})
		j.diary()
		j.result(r, err)
	})
}

func drawSeconds(t *rapid.T, name string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most*2).Draw(t, name)) * time.Second / 2
}

// play is a script with everything that is chosen for it.
type play struct {
	contract    host.Contract
	answers     answers
	verdicts    verdicts
	slow        time.Duration
	tries       int           // in the past
	first, last time.Duration // before now
	ends        bool
	end         time.Duration
}

func drawPlay(t *rapid.T) (p play) {
	classes := []host.Class{host.Once, host.Read, host.Keyed, host.Verify}
	p.contract = shape(rapid.SampledFrom(classes).Draw(t, "class"), rapid.IntRange(1, 4).Draw(t, "tries"))
	p.contract.KeyWindow = rapid.SampledFrom([]time.Duration{host.NoKeyWindow, 10 * time.Second, 100 * time.Second, time.Hour}).Draw(t, "window")
	if rapid.Bool().Draw(t, "charged") {
		p.contract = charged(p.contract)
	}
	if rapid.Bool().Draw(t, "can be asked") {
		p.verdicts = rapid.SliceOfN(rapid.Custom(drawVerdict), 1, 6).Draw(t, "verdicts")
	}
	p.answers = rapid.SliceOfN(rapid.Custom(drawAnswer), 1, 6).Draw(t, "answers")
	p.slow = rapid.SampledFrom([]time.Duration{0, time.Second, 9 * time.Second, 12 * time.Second}).Draw(t, "slow")
	p.tries = rapid.IntRange(0, 2).Draw(t, "past tries")
	p.last = drawSeconds(t, "last", 120)
	p.first = p.last + drawSeconds(t, "first", 120)
	p.ends = rapid.IntRange(0, 3).Draw(t, "ends") == 3
	p.end = drawSeconds(t, "end", 90)
	return p
}

func (p play) stage() (*stage, host.Past) {
	s := newStage(p.contract, p.answers, p.verdicts)
	s.ledger.slow = p.slow
	if p.tries == 0 {
		return s, host.Past{}
	}
	return s, host.Past{Tries: p.tries, First: s.start.Add(-p.first), Last: s.start.Add(-p.last)}
}

func drawAnswer(t *rapid.T) host.Answer {
	return host.Answer{
		Outcome:    host.Outcome(rapid.IntRange(0, 4).Draw(t, "outcome")),
		Settles:    rapid.Bool().Draw(t, "settles"),
		Code:       rapid.SampledFrom([]string{"", "", "http_500", hangs, panics}).Draw(t, "code"),
		RetryAfter: drawSeconds(t, "after", 60),
	}
}

func drawVerdict(t *rapid.T) host.Verdict {
	return host.Verdict{
		Kind:       host.VerdictKind(rapid.IntRange(0, 2).Draw(t, "kind")),
		Code:       rapid.SampledFrom([]string{"", "", "", hangs, panics}).Draw(t, "code"),
		RetryAfter: drawSeconds(t, "after", 60),
	}
}

// reliable is how long after its first sending a key may be sent again.
func reliable(c host.Contract) time.Duration {
	return c.KeyWindow - max(c.KeyWindow/10, c.Timeout+c.Settle)
}

// judge reads a diary with the script in hand. It knows the promises and not
// the protocol.
type judge struct {
	t    *rapid.T
	s    *stage
	past host.Past

	record, durable bool          // of the next send
	first, last     time.Duration // when the first and the last send were recorded
	sends, asks     int
	unknown         bool // a send may have been applied
	over            bool // the outcome is known for good
	absent          bool // an absent was told
	settled         bool // the call was settled
}

func (j *judge) errorf(format string, args ...any) {
	j.t.Helper()
	c := j.s.fake.contract
	j.t.Fatalf(format+"\n%s, %d tries, window %s, past %+v\n%s", append(args, c.Effect, c.Tries, c.KeyWindow, j.past, j.s)...)
}

func (j *judge) diary() {
	if j.past.Tries > 0 {
		j.unknown = j.s.fake.contract.Effect != host.Read
		j.first, j.last = j.past.First.Sub(j.s.start), j.past.Last.Sub(j.s.start)
	}
	all := j.s.all()
	for i, e := range all {
		if j.settled {
			j.errorf("%s after the receipt", e.what)
		}
		switch e.what {
		case "intend", "retry":
			if (e.what == "intend") != (j.past.Tries+j.sends == 0) && !j.record {
				j.errorf("%s as the record of send %d", e.what, j.sends+1)
			}
			j.record, j.durable = true, false
			if e.what == "intend" {
				j.first = e.at
			}
			j.last = e.at
		case "wait":
			j.durable = j.record
		case "send":
			j.send(e)
		case "ask":
			j.ask(e, all[i+1])
		case "settle":
			j.settled = true
		}
	}
}

func (j *judge) send(e event) {
	c := j.s.fake.contract
	j.sends++
	switch {
	case j.over:
		j.errorf("sent after the outcome was known")
	case !j.record:
		j.errorf("sent without a record")
	case !j.durable && (c.Effect != host.Read || c.Charged()):
		j.errorf("sent before its record was durable")
	case e.call.Key != j.s.call.Key:
		j.errorf("sent with another key")
	case j.unknown && c.Effect == host.Once:
		j.errorf("once was sent with an unknown send before it")
	case j.unknown && c.Effect == host.Verify:
		j.errorf("verify was sent with an unknown send before it and no absent that counts")
	case j.unknown && c.Effect == host.Keyed && (c.KeyWindow == host.NoKeyWindow || e.at-j.first > reliable(c)+j.s.ledger.slow):
		j.errorf("keyed was sent with a key that may be forgotten")
	case j.sends > c.Tries+1 || j.sends > c.Tries && !j.absent:
		j.errorf("sent %d times", j.sends)
	}
	j.record, j.durable = false, false
	a := j.s.fake.answers[min(j.sends, len(j.s.fake.answers))-1]
	switch {
	case a.Code != panics && a.Outcome == host.OutcomeApplied,
		a.Code != panics && a.Outcome == host.OutcomeRejected && (a.Settles || !j.unknown):
		j.over = true
	case a.Code != panics && (a.Outcome == host.OutcomeRejected || a.Outcome == host.OutcomeNotApplied):
	case c.Effect != host.Read:
		j.unknown = true
	}
}

// ask weighs a query by when it was begun and when it was answered: an absent
// speaks of some moment between.
func (j *judge) ask(e, asked event) {
	c := j.s.fake.contract
	j.asks++
	if !j.unknown || j.over {
		j.errorf("asked though nothing was unknown")
	}
	v := j.s.fake.verdicts[min(j.asks, len(j.s.fake.verdicts))-1]
	if v.Code == panics {
		return
	}
	switch v.Kind {
	case host.Found:
		j.over = true
	case host.Absent:
		j.absent = true
		if e.at > j.last+c.Timeout+c.Settle && (c.Effect == host.Verify || c.Effect == host.Keyed && asked.at-j.first <= reliable(c)) {
			j.unknown = false
		}
	}
}

func (j *judge) result(r *host.Receipt, err error) {
	undecided := errors.Is(err, host.ErrOutcomeUnknown)
	stopped := j.settled && j.s.ledger.receipt.Code == host.CodeStopped
	switch {
	case (r == nil) == (err == nil):
		j.errorf("got %v, %v", r, err)
	case stopped:
		if r != nil || j.unknown || j.over || j.s.ledger.receipt.Outcome != host.OutcomeNotApplied || !errors.Is(err, context.DeadlineExceeded) {
			j.errorf("settled as stopped, got %v, %v", r, err)
		}
	case j.settled != (r != nil):
		j.errorf("settled %v, but got %v, %v", j.settled, r, err)
	case undecided && (!j.unknown || j.over):
		j.errorf("a person is asked though the outcome is known: %v", err)
	case err != nil && !undecided && !errors.Is(err, context.DeadlineExceeded):
		j.errorf("got %v", err)
	case j.over && r == nil:
		j.errorf("the outcome was known and is lost: %v", err)
	case r == nil:
		return
	case r.Status == abi.Unknown || r.Outcome == host.OutcomeUnknown || r.Status > abi.Unknown:
		j.errorf("unknown was told: %+v", r)
	case j.unknown && !j.over:
		j.errorf("told %s while a send is unknown", r.Outcome)
	case (r.Outcome == host.OutcomeNotApplied) == j.over:
		j.errorf("told %s, known is %v", r.Outcome, j.over)
	case r.Status == abi.Deadline && j.s.fake.contract.Effect != host.Read:
		j.errorf("only a read has a deadline")
	case (r.Status == abi.OK) != (r.Outcome == host.OutcomeApplied):
		j.errorf("status %d for %s", r.Status, r.Outcome)
	}
}
