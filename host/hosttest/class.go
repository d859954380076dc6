package hosttest

import (
	"bytes"
	"context"
	"sync"

	"github.com/pawl-dev/pawl/host"
)

// byClass is what the classes promise. A read's is in common: it has no effects.
var byClass = map[host.Class][]rule{
	host.Read: {{"the same read again", func(b *bench) {
		c := b.call()
		if _, ok := b.apply(c); ok {
			b.apply(c)
		}
	}}},
	host.Once: {{"the same call again", func(b *bench) {
		c := b.call()
		if _, ok := b.apply(c); !ok {
			return
		}
		if s, ok := b.apply(c); ok && s.applied == 0 {
			b.Logf("%s: the receiver applied one key once: is the class keyed?", b.id)
		}
	}}},
	host.Keyed: {
		{"the same key again", checkSameKey},
		{"the same key at once", checkSameKeyAtOnce},
		{"the same key after a lost answer", checkSameKeyAfterLoss},
		{"another key", checkAnotherKey},
	},
	host.Verify: {{"the receiver's word", func(b *bench) {
		c := b.call()
		b.expect(b.Context(), c, host.Absent, "before the call")
		if _, ok := b.apply(c); !ok {
			return
		}
		b.expect(b.Context(), c, host.Found, "after it was applied")
		b.expect(b.Context(), b.underNewKey(c), host.Absent, "for another key of the same request")
	}}, {"the receiver's word after a lost answer", func(b *bench) {
		if b.opts.Lose == nil {
			b.unchecked("Lose")
			return
		}
		b.opts.Lose()
		c := b.call()
		if s := b.try(b.bounded(), c); s.applied == 1 {
			b.expect(b.Context(), c, host.Found, "after it was applied and the answer lost")
		}
	}}},
}

// asked is what every tool promises that can be asked, whatever its class.
var asked = []rule{
	{"a query", func(b *bench) {
		c := b.call()
		if v, ok := b.ask(b.Context(), c); ok && v.Kind == host.Found {
			b.fail("Verify found a key that was never sent")
		}
		if _, ok := b.apply(c); !ok {
			return
		}
		if v, ok := b.ask(b.Context(), c); ok && v.Kind == host.Absent && b.contract.Effect != host.Once {
			b.fail("Verify does not find what was applied")
		}
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		if v, ok := b.ask(ctx, c); ok && v.Kind == host.Absent {
			b.fail("Verify says absent of what was applied when its context has ended; no answer is not absent")
		}
	}},
	{"a query about what was refused", func(b *bench) {
		if b.opts.Refused != nil {
			b.unfound(b.Context(), b.callOf(b.opts.Refused()))
		}
	}},
	{"a query about what was lost", func(b *bench) {
		if b.opts.Drop != nil {
			b.opts.Drop()
			b.unfound(b.bounded(), b.call())
		}
	}},
}

// unfound sends a call that is not applied. A receiver may know its key all the
// same, and who takes that for the effect loses it.
func (b *bench) unfound(ctx context.Context, c *host.Call) {
	b.Helper()
	if s := b.try(ctx, c); !s.returned || s.applied > 0 {
		return // said elsewhere
	}
	if v, ok := b.ask(b.Context(), c); ok && v.Kind == host.Found {
		b.fail("Verify says found of what was not applied")
	}
}

func (b *bench) expect(ctx context.Context, c *host.Call, want host.VerdictKind, when string) {
	b.Helper()
	names := map[host.VerdictKind]string{host.NoAnswer: "nothing", host.Found: "found", host.Absent: "absent"}
	if v, ok := b.ask(ctx, c); ok && v.Kind != want {
		b.fail("%s, Verify says %s (%s %s), not %s", when, names[v.Kind], v.Code, v.Message, names[want])
	}
}

func checkSameKey(b *bench) {
	c := b.call()
	first, ok := b.apply(c)
	if !ok {
		return
	}
	second := b.try(b.Context(), c)
	switch {
	case !second.returned:
	case second.applied > 0:
		b.fail("one key had a second effect")
	case second.Outcome != host.OutcomeApplied:
		b.fail("the second time Try says %s (%s %s), though it is applied", second.Outcome, second.Code, second.Message)
	case !bytes.Equal(first.Response.Body, second.Response.Body):
		b.fail("the first answer was %q, the second %q", first.Response.Body, second.Response.Body)
	}
}

func checkSameKeyAtOnce(b *bench) {
	c, before := b.call(), b.effects()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s := b.send(b.Context(), c, func() bool { return true })
			if s.returned && s.Outcome == host.OutcomeRejected && s.Settles {
				b.fail("one of several at once is rejected, and says so for all")
			}
		})
	}
	all.Wait()
	if n := b.effects() - before; n != 1 {
		b.fail("one key had %d effects", n)
	}
}

func checkSameKeyAfterLoss(b *bench) {
	if b.opts.Lose == nil {
		b.unchecked("Lose")
		return
	}
	c, before := b.call(), b.effects()
	b.opts.Lose()
	b.try(b.bounded(), c)
	if _, ok := b.apply(c); ok && b.effects()-before != 1 {
		b.fail("one key had %d effects", b.effects()-before)
	}
}

func checkAnotherKey(b *bench) {
	c := b.call()
	if _, ok := b.apply(c); !ok {
		return
	}
	s, ok := b.apply(b.underNewKey(c))
	if ok && s.applied == 0 && !b.opts.ByNature {
		b.fail("the same request under another key had no effect: two rightful effects would be one; if the request is harmless to repeat by nature, say so in Options.ByNature")
	}
}
