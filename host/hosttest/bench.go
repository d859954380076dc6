package hosttest

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// bench is what a tool is exercised on.
type bench struct {
	testing.TB
	tool     host.Tool
	contract host.Contract
	request  func(n int) []byte
	effects  func() int
	opts     Options
	rule     string
	id       string // of the tool, as it was at first

	mu sync.Mutex // guards what follows
	n  int        // requests made
	k  uint64     // keys made
}

func (b *bench) fail(format string, args ...any) {
	b.Helper()
	b.Errorf("%s (%s): %s: %s", b.id, b.contract.Effect, b.rule, fmt.Sprintf(format, args...))
}

func (b *bench) unchecked(option string) {
	b.Helper()
	b.Logf("%s: %s: not checked without Options.%s", b.id, b.rule, option)
}

// call makes a new call: a request that was not made before, under a new key.
func (b *bench) call() *host.Call {
	b.mu.Lock()
	n := b.n
	b.n++
	b.mu.Unlock()
	return b.callOf(b.request(n))
}

func (b *bench) callOf(body []byte) *host.Call {
	c := &host.Call{
		Tool: b.id, Run: "exercise", Step: "exercise", Attempt: 1, Try: 1,
		Type: b.opts.Type, Body: body, Sent: func() {},
	}
	if hash, err := host.RequestHash(c.Tool, c.Type, "", false, body); err == nil {
		c.Hash = hash
	}
	return b.underNewKey(c)
}

// underNewKey is the same request once more.
func (b *bench) underNewKey(c *host.Call) *host.Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.k++
	other := *c
	other.Key = host.NewKey(host.KeyInput{Store: "hosttest", Root: fmt.Sprint(time.Now().UnixNano()), Tool: b.id, Occurrence: uint32(b.k)})
	binary.BigEndian.PutUint64(other.Key[8:], b.k)
	return &other
}

// sending is what one Try came to.
type sending struct {
	host.Answer
	announced int  // how often Sent was called
	ahead     bool // and the effect was not there before
	applied   int  // effects that it had
	returned  bool
}

// try sends the call once, counts, and holds the tool to what every Try promises.
func (b *bench) try(ctx context.Context, c *host.Call) sending {
	b.Helper()
	before := b.effects()
	s := b.send(ctx, c, func() bool { return b.effects() == before })
	s.applied = b.effects() - before
	switch {
	case !s.returned:
	case !s.ahead:
		b.fail("Sent was called after the receiver had applied the call; call it before the first byte leaves")
	case s.announced > 1:
		b.fail("one Try called Sent %d times", s.announced)
	case s.applied > 0 && s.announced == 0:
		b.fail("Try did not call Sent, and the receiver applied the call")
	}
	if s.returned {
		b.judge(s)
	}
	return s
}

// judge compares what a Try says with what the receiver did.
func (b *bench) judge(s sending) {
	b.Helper()
	if b.contract.Effect == host.Read {
		if s.applied != 0 {
			b.fail("a read changed something: %d effects", s.applied)
		}
		return
	}
	switch {
	case s.applied > 1:
		b.fail("one Try had %d effects; it must not send twice", s.applied)
	case s.applied == 1 && (s.Outcome == host.OutcomeRejected || s.Outcome == host.OutcomeNotApplied):
		b.fail("Try says %s, and the receiver applied the call; what is not known is unknown", s.Outcome)
	}
}

// send calls Try and waits for it as long as anything may take.
func (b *bench) send(ctx context.Context, c *host.Call, unapplied func() bool) sending {
	b.Helper()
	copied := *c
	var mu sync.Mutex
	s := sending{ahead: true}
	sent := c.Sent
	copied.Sent = func() {
		mu.Lock()
		s.announced++
		s.ahead = s.ahead && unapplied()
		mu.Unlock()
		sent()
	}
	var a host.Answer
	returned := b.promptly("Try", func() { a = b.tool.Try(ctx, &copied) })
	mu.Lock()
	defer mu.Unlock()
	if s.returned = returned; returned {
		s.Answer = a
		b.clean("an answer", a.Response.Body, []byte(a.Code), []byte(a.Message))
	}
	return s
}

// promptly calls f and reports what it must not do: panic, or not return.
func (b *bench) promptly(what string, f func()) (returned bool) {
	b.Helper()
	done := make(chan string, 1)
	go func() {
		end := "it ended its goroutine"
		defer func() {
			if v := recover(); v != nil {
				end = fmt.Sprintf("it panicked: %v", v)
			}
			done <- end
		}()
		f()
		end = ""
	}()
	timer := time.NewTimer(b.opts.Patience)
	defer timer.Stop()
	select {
	case wrong := <-done:
		if wrong != "" {
			b.fail("%s: %s", what, wrong)
		}
		return wrong == ""
	case <-timer.C:
		b.fail("%s did not return within %s", what, b.opts.Patience)
		return false
	}
}

// clean reports secrets in what the tool gives out.
func (b *bench) clean(what string, texts ...[]byte) {
	b.Helper()
	for _, text := range texts {
		for i, secret := range b.opts.Secrets {
			if secret != "" && strings.Contains(string(text), secret) {
				b.fail("secret %d is in %s", i, what)
			}
		}
	}
}

// apply sends a new call that the receiver is expected to take.
func (b *bench) apply(c *host.Call) (sending, bool) {
	b.Helper()
	s := b.try(b.Context(), c)
	if s.returned && s.Outcome != host.OutcomeApplied {
		b.fail("a plain call came to %s (%s %s); nothing more can be said", s.Outcome, s.Code, s.Message)
	}
	return s, s.returned && s.Outcome == host.OutcomeApplied
}

// ask asks about the call's key.
func (b *bench) ask(ctx context.Context, c *host.Call) (v host.Verdict, ok bool) {
	b.Helper()
	before := b.effects()
	copied := *c
	ok = b.promptly("Verify", func() { v = b.tool.(host.Verifier).Verify(ctx, &copied) })
	if n := b.effects() - before; n != 0 {
		b.fail("Verify changed something: %d effects", n)
	}
	if ok {
		b.clean("a verdict", v.Response.Body, []byte(v.Code), []byte(v.Message))
	}
	return v, ok
}
