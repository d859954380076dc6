package power_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// Requests from sharedFrom on are those of business keys, whose effects are of
// all runs together. Requests of seenUnknown are those of calls that opted in to
// see an unknown outcome.
const (
	seenUnknown = 50
	sharedFrom  = 100
)

// codeRefused is that of a script's "not applied".
const codeRefused = "http_429"

// books are those of all receivers. They have power of their own, and are the
// judge.
type books struct {
	world *world

	mu       sync.Mutex // guards what follows
	entries  map[entryID]*entry
	effects  map[string]map[effect]int // by run; "" for business keys
	arrivals map[string]*arrivals      // by run
	done     map[[2]string]bool        // run and step: it is known to be completed
	owner    map[string]*process       // by run: who took it over
	silent   int                       // queries to come that get no answer
	answers  []Answer                  // of sends to come
}

// entryID is a key at a receiver.
type entryID struct{ tool, key string }

// entry is what one receiver knows of a key.
type entry struct {
	run, step string
	n         int
	applied   int       // how often
	known     bool      // as far as it remembers
	seen      time.Time // when its memory of the key began
	closed    bool      // a durable receipt says that it was applied
	sent      int
	lost      bool // a send was
}

// arrivals counts what came from a run.
type arrivals struct {
	all    int
	waited int // of those whose record must be durable before
}

func newBooks(w *world) *books {
	return &books{
		world: w, entries: map[entryID]*entry{}, effects: map[string]map[effect]int{}, arrivals: map[string]*arrivals{},
		done: map[[2]string]bool{}, owner: map[string]*process{},
	}
}

// begin sets what a life brings.
func (b *books) begin(l *Life) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers, b.silent = l.Answers, l.Silent
}

// arrive takes a send.
func (b *books) arrive(ctx context.Context, p *process, k kind, c *host.Call) host.Answer {
	if !b.note(p, k, c) {
		return host.Answer{}
	}
	if b.world.plan.Peek && (!k.reads() || k.paid) {
		p.peek(c)
	}
	p.moment(AtArrival)
	a, what := b.answer(ctx, p, k, c)
	p.moment(AtEffect)
	p.stand()
	switch what {
	case Hang, Stuck:
		select {
		case <-ctx.Done():
		case <-p.gone:
		}
	case Tardy:
		select {
		case <-time.After(10 * time.Minute):
		case <-p.gone:
		}
	case Panic:
		panic("the tool of a test")
	case Exit:
		goruntime.Goexit()
	}
	return a
}

// note writes down that a send has arrived, and what must not have. It reports
// whether it has: the dead send nothing.
func (b *books) note(p *process, k kind, c *host.Call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.dead {
		return false
	}
	e := b.entry(k, c)
	e.sent++
	of := b.arrivals[c.Run]
	if of == nil {
		of = &arrivals{}
		b.arrivals[c.Run] = of
	}
	of.all++
	if !k.reads() || k.paid {
		of.waited++
	}
	w := b.world
	w.note(p, "arrives", c.Run, c.Step, k.name, c.Key.String()[:6], fmt.Sprint("n=", number(c), " attempt ", c.Attempt, " try ", c.Try))
	if e.closed {
		w.fail("%s of %s %s (key %s) was sent again after its receipt was durable", k.name, c.Run, c.Step, c.Key)
	}
	if b.done[[2]string{c.Run, c.Step}] {
		w.fail("%s was sent by %s of %s, which is completed", k.name, c.Step, c.Run)
	}
	if owner := b.owner[c.Run]; owner != nil && owner != p && !owner.dead {
		w.fail("%s of %s was sent by process %d, from which process %d has taken the run", k.name, c.Run, p.number, owner.number)
	}
	return true
}

// entry is the entry of a key. The caller holds mu.
func (b *books) entry(k kind, c *host.Call) *entry {
	id := entryID{k.name, c.Key.String()}
	e := b.entries[id]
	if e == nil {
		e = &entry{run: c.Run, step: c.Step, n: number(c), seen: time.Now()}
		b.entries[id] = e
	}
	return e
}

// answer does what a receiver does with a send.
func (b *books) answer(ctx context.Context, p *process, k kind, c *host.Call) (host.Answer, Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.dead {
		return host.Answer{}, Lost
	}
	n, what := number(c), Well
	if !k.reads() && len(b.answers) > 0 {
		what, b.answers = b.answers[0], b.answers[1:]
	}
	// A call that can be asked about is lost once at most: who has heard "absent"
	// for all its tries is told so, and the step would go another way.
	if e := b.entry(k, c); k.asked && (what == Lost || what == Hang) {
		if e.lost {
			what = Well
		}
		e.lost = true
	}
	script := p.world.step(c).script(k.name, n)
	switch {
	case k.reads():
	case what == Lost || what == Hang:
		p.world.totals.count("answer " + string(what))
		return host.Answer{Code: "http_500"}, what
	case script.Rejected || c.Attempt < script.Until: // nothing is applied, whatever is told
		if what != Well {
			p.world.totals.count("answer of nothing " + string(what))
			return host.Answer{Code: "http_500"}, what
		}
	case what == Late:
		p.world.totals.count("answer late")
		deadline, _ := ctx.Deadline()
		b.later(k, c, time.Until(deadline)+settle-time.Millisecond)
		return host.Answer{Code: "http_500"}, what
	default:
		b.apply(k, c)
		if what != Well {
			p.world.totals.count("answer " + string(what))
			if what == Tardy {
				return k.well(n), what
			}
			return host.Answer{Code: "http_500"}, what
		}
	}
	switch {
	case script.Rejected:
		return host.Answer{Outcome: host.OutcomeRejected, Settles: true, Code: "http_422"}, what
	case c.Attempt < script.Until:
		return host.Answer{Outcome: host.OutcomeNotApplied, Code: codeRefused, RetryAfter: seconds(script.After)}, what
	}
	return k.well(n), what
}

// apply has the effect happen, unless the receiver keeps keys and knows this
// one. The caller holds mu.
func (b *books) apply(k kind, c *host.Call) {
	e := b.entry(k, c)
	if k.class == host.Keyed && time.Since(e.seen) >= keyWindow {
		e.known, e.seen = false, time.Now()
	}
	if k.class == host.Keyed && e.known {
		b.world.totals.count("key known")
		return
	}
	e.known = true
	e.applied++
	run := c.Run
	id := effect{c.Step, k.name, e.n}
	if e.n >= sharedFrom {
		run, id.step = "", ""
	}
	if b.effects[run] == nil {
		b.effects[run] = map[effect]int{}
	}
	b.effects[run][id]++
	b.world.note(nil, "EFFECT", run, fmt.Sprint(id))
	if e.applied > 1 {
		b.world.fail("%s with key %s of %s %s was applied %d times", k.name, c.Key, c.Run, c.Step, e.applied)
	}
}

// later applies after a time.
func (b *books) later(k kind, c *host.Call, after time.Duration) {
	call := *c // the protocol goes on with its own
	time.AfterFunc(after, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.apply(k, &call)
	})
}

// ask answers a verify query.
func (b *books) ask(p *process, k kind, c *host.Call) host.Verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	totals := b.world.totals
	switch e := b.entry(k, c); {
	case p.dead:
		return host.Verdict{Code: "dead"}
	case b.silent > 0:
		b.silent--
		totals.count("verify silent")
		return host.Verdict{Code: "http_503"}
	case e.applied > 0 && (k.class != host.Keyed || e.known):
		totals.count("verify found")
		return host.Verdict{Kind: host.Found, Response: response(e.n), Units: k.units()}
	}
	totals.count("verify absent")
	return host.Verdict{Kind: host.Absent}
}

// close takes note of what a durable receipt says.
func (b *books) close(tool, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[entryID{tool, key}]; e != nil {
		e.closed = true
	}
}

// completed takes note that a step is completed.
func (b *books) completed(run, step string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done[[2]string{run, step}] = true
}

// own takes note that a process has taken a run.
func (b *books) own(run string, p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owner[run] = p
}
