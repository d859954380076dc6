package host_test

import (
	"context"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// worldTool sends to the receiver of its process.
type worldTool struct{ *process }

func (t worldTool) ID() string              { return "pay" }
func (t worldTool) Contract() host.Contract { return t.contract }
func (t worldTool) Receiver() string        { return t.receiver }

func (t worldTool) Try(ctx context.Context, c *host.Call) host.Answer {
	t.point()
	t.begin()
	defer t.land()
	c.Sent()
	lost := host.Answer{Code: "http_500"}
	deadline, _ := ctx.Deadline()
	what := t.roll(12)
	switch what {
	case 0, 1:
		return t.apply()
	case 2: // the answer is lost, or the process, on either side of the effect
		t.point()
		t.apply()
		t.point()
		return lost
	case 3:
		t.apply()
		<-ctx.Done()
		return lost
	case 4:
		return lost
	case 5: // it lies about and is applied later, but within the settle time
		t.later(deadline.Add(t.contract.Settle), deadline)
		return lost
	case 6:
		return t.reject()
	case 7:
		t.play.Lock()
		defer t.play.Unlock()
		t.notBefore = time.Now().Add(30 * time.Second)
		return host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: 30 * time.Second}
	case 8:
		t.play.Lock()
		defer t.play.Unlock()
		t.world.sends--
		return host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_401", CredentialsRefused: true}
	case 9: // not of a key that is forgotten while such a send is under way
		if t.contract.KeyWindow != 100*time.Second {
			return t.deaf(deadline)
		}
	}
	if what%2 == 0 {
		t.apply()
	}
	panic("a bug of the tool")
}

func (p *process) begin() {
	p.play.Lock()
	if p.inFlight++; p.inFlight > 1 {
		p.play.Unlock()
		p.errorf("two sends of the key at once")
		return
	}
	p.world.sends++
	early := time.Now().Before(p.notBefore)
	many := p.world.sends
	p.play.Unlock()
	p.note(nil, "send")
	if early {
		p.errorf("sent before the receiver's Retry-After")
	}
	if many > p.contract.Tries+1 {
		p.errorf("sent %d times", many)
	}
}

func (p *process) land() {
	p.play.Lock()
	defer p.play.Unlock()
	p.inFlight--
}

// apply has the receiver apply the key, if it does not know it.
func (p *process) apply() host.Answer {
	p.play.Lock()
	defer p.play.Unlock()
	b := p.remembering()
	if p.contract.Effect != host.Keyed || !b.known {
		b.effects++
		b.known = true
		p.note(nil, "EFFECT "+p.receiver)
	}
	return host.Answer{Outcome: host.OutcomeApplied, Settles: true}
}

// remembering returns the books after what they forget. A receiver's memory of
// a key begins when it first hears of it.
func (p *process) remembering() *books {
	b, now := p.books[p.receiver], time.Now()
	if p.contract.Effect == host.Keyed && now.Sub(b.seen) >= p.contract.KeyWindow {
		b.known, b.seen = false, now
	}
	return b
}

func (p *process) reject() host.Answer {
	p.play.Lock()
	defer p.play.Unlock()
	b := p.remembering()
	if b.known || b.coming > 0 || b.effects > 0 {
		return host.Answer{Outcome: host.OutcomeRejected, Code: "http_409"} // of this try
	}
	return host.Answer{Outcome: host.OutcomeRejected, Settles: true, Code: "http_422"}
}

// later applies at some time up to the latest, and not later than can be known:
// who ended its process before it could record that a send hangs, or returned
// late, is taken to have ended it at its deadline.
func (p *process) later(latest, deadline time.Time) {
	wait := time.Until(latest) * time.Duration(1+p.roll(10)) / 10
	p.expect(1)
	time.AfterFunc(wait, func() {
		defer p.expect(-1)
		if time.Now().Before(p.reach(deadline).Add(p.contract.Settle).Add(1)) {
			p.apply()
		}
	})
}

// reach is until when a send can have been under way.
func (p *process) reach(deadline time.Time) time.Time {
	p.play.Lock()
	defer p.play.Unlock()
	switch {
	case p.died.IsZero():
		return time.Now()
	case p.hung && p.died.After(deadline):
		return p.died
	}
	return deadline
}

// expect changes how much the receiver may still apply.
func (p *process) expect(n int) {
	p.play.Lock()
	defer p.play.Unlock()
	p.books[p.receiver].coming += n
}

// deaf does not hear of its deadline. What it sends is applied within the settle
// time after it has returned.
func (p *process) deaf(deadline time.Time) host.Answer {
	p.expect(1)
	defer p.expect(-1)
	time.Sleep(time.Duration(p.roll(90)) * time.Second)
	p.later(time.Now().Add(p.contract.Settle), deadline)
	return host.Answer{Outcome: host.OutcomeApplied, Settles: true}
}

// worldVerifier can be asked. Of class once it knows what it likes.
type worldVerifier struct{ worldTool }

func (t worldVerifier) Verify(ctx context.Context, _ *host.Call) host.Verdict {
	t.point()
	t.note(nil, "ask")
	switch t.roll(8) {
	case 5:
		return host.Verdict{Code: "http_503"}
	case 6:
		<-ctx.Done()
		return host.Verdict{}
	case 7:
		return host.Verdict{Code: "http_401", CredentialsRefused: true}
	}
	t.play.Lock()
	b := t.remembering()
	found := b.effects > 0 && (t.contract.Effect != host.Keyed || b.known)
	t.play.Unlock()
	if found && (t.contract.Effect != host.Once || t.roll(2) == 0) {
		return host.Verdict{Kind: host.Found}
	}
	return host.Verdict{Kind: host.Absent}
}
