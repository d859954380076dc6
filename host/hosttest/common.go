package hosttest

import (
	"bytes"
	"context"
	"sync"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// writes is the number of effects that a plain call of the tool has.
func (b *bench) writes() int {
	if b.contract.Effect == host.Read {
		return 0
	}
	return 1
}

// common is what every tool promises.
var common = []rule{
	{"a call", func(b *bench) {
		c := b.call()
		if err := host.Check(b.tool, c); err != nil {
			b.fail("Check refuses a plain request: %v", err)
		}
		s, ok := b.apply(c)
		if !ok {
			return
		}
		if s.announced != 1 {
			b.fail("Try called Sent %d times; once, right before the first byte leaves", s.announced)
		}
		if s.applied != b.writes() {
			b.fail("Try says applied, and the receiver has %d effects more", s.applied)
		}
	}},
	{"a call whose context has ended", func(b *bench) {
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		s := b.try(ctx, b.call())
		if s.returned && s.Outcome == host.OutcomeApplied && s.applied != b.writes() {
			b.fail("Try says applied, and the receiver has %d effects more", s.applied)
		}
	}},
	{"a call whose context ends on the way", checkHang},
	{"a request that cannot be sent", checkOdd},
	{"a refused request", checkRefused},
	{"a lost answer", func(b *bench) {
		if b.opts.Lose == nil {
			b.unchecked("Lose")
			return
		}
		b.opts.Lose()
		b.try(b.bounded(), b.call())
	}},
	{"a lost request", func(b *bench) {
		if b.opts.Drop == nil {
			b.unchecked("Drop")
			return
		}
		b.opts.Drop()
		s := b.try(b.bounded(), b.call())
		switch {
		case !s.returned:
		case s.applied > 0:
			b.fail("the receiver dropped the sending and has an effect: Try sent it again by itself")
		case s.Outcome == host.OutcomeApplied:
			b.fail("Try says applied, and the receiver dropped the sending")
		}
	}},
	{"many calls at once", checkConcurrent},
	{"what people are shown", checkShown},
	{"the contract", func(b *bench) {
		first, second := b.tool.Contract(), b.tool.Contract()
		if first.Digest() != second.Digest() || b.tool.ID() != b.id {
			b.fail("it changes from one asking to the next")
		}
	}},
}

// bounded is a context that ends well before anything may not take longer.
func (b *bench) bounded() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), b.opts.Patience/2)
	b.Cleanup(cancel)
	return ctx
}

func checkHang(b *bench) {
	if b.opts.Hang == nil {
		b.unchecked("Hang")
		return
	}
	release := b.opts.Hang()
	released := sync.OnceFunc(release)
	defer released()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	before := b.effects()
	c := b.call()
	c.Sent = cancel // it ends when the call is on its way
	s := b.send(ctx, c, func() bool { return true })
	released()
	if !s.returned {
		return
	}
	s.applied = b.effects() - before
	if s.announced > 0 && s.Outcome == host.OutcomeApplied && s.applied != b.writes() {
		b.fail("Try says applied without an answer")
	}
	b.judge(s)
}

// checkOdd tries what is no request only if the tool refuses it: a sending of
// anything else could not be taken back.
func checkOdd(b *bench) {
	checker, ok := b.tool.(host.Checker)
	if !ok {
		return
	}
	for _, body := range []string{"", "{", "null", "[]", `"x"`, "0", `{"\u0000":[{}]}`} {
		c := b.callOf([]byte(body))
		var err error
		if !b.promptly("Check", func() { err = checker.Check(c) }) || err == nil {
			continue
		}
		b.clean("the error of Check", []byte(err.Error()))
		s := b.try(b.Context(), c)
		switch {
		case !s.returned:
		case s.announced > 0 || s.applied > 0:
			b.fail("Check refuses %q, and Try sends it", body)
		case s.Outcome != host.OutcomeRejected && s.Outcome != host.OutcomeNotApplied:
			b.fail("Check refuses %q, and Try says %s", body, s.Outcome)
		}
	}
}

func checkRefused(b *bench) {
	if b.opts.Refused == nil {
		b.unchecked("Refused")
		return
	}
	s := b.try(b.Context(), b.callOf(b.opts.Refused()))
	if s.returned && s.Outcome != host.OutcomeRejected {
		b.fail("the receiver refuses it for good, and Try says %s", s.Outcome)
	}
}

func checkConcurrent(b *bench) {
	const many = 8
	before := b.effects()
	var all sync.WaitGroup
	for range many {
		c := b.call()
		all.Go(func() {
			s := b.send(b.Context(), c, func() bool { return true })
			if s.returned && (s.Outcome != host.OutcomeApplied || s.announced != 1) {
				b.fail("one came to %s (%s %s) and called Sent %d times", s.Outcome, s.Code, s.Message, s.announced)
			}
		})
	}
	all.Wait()
	if n := b.effects() - before; n != many*b.writes() {
		b.fail("%d calls with a key each had %d effects", many, n)
	}
}

func checkShown(b *bench) {
	if r, ok := b.tool.(host.Receiving); ok {
		first := r.Receiver()
		if second := r.Receiver(); first != second {
			b.fail("the receiver is %q, and then %q", first, second)
		}
		b.clean("the name of the receiver", []byte(first))
	}
	if _, ok := b.tool.(host.Shower); !ok {
		return
	}
	before := b.effects()
	c, other := b.call(), b.call()
	texts := map[*host.Call][]byte{}
	for _, c := range []*host.Call{c, other} {
		text, _, err := host.Show(b.tool, c)
		if err != nil {
			b.fail("%v", err)
			return
		}
		again, _, _ := host.Show(b.tool, b.underNewKey(c))
		if !bytes.Equal(text, again) {
			b.fail("one request is shown as %q, and then as %q: nobody could approve it", text, again)
		}
		b.clean("what is shown", text)
		texts[c] = text
	}
	if bytes.Equal(texts[c], texts[other]) && b.opts.Type == abi.TypeJSON && !bytes.Equal(c.Body, other.Body) {
		b.fail("two requests are shown as one: %q", texts[c])
	}
	if n := b.effects() - before; n != 0 {
		b.fail("Show changed something: %d effects", n)
	}
}
