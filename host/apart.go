package host

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

// grace is how long a tool whose context has ended is waited for: one that is
// on its way out still tells what it knows.
const grace = time.Second

// apart runs f, which is code of a tool, on a goroutine of its own, so that one
// that does not return cannot hold up who called it. The channel gets what f
// returns, or what broken makes of a panic. Nobody can wait for a goroutine
// that does not end; it is the tool's.
func apart[T any](f func() T, broken func(message string) T) <-chan T {
	result := make(chan T, 1)
	go func() {
		var v T
		returned := false
		defer func() {
			if r := recover(); r != nil {
				v = broken(panicMessage(r))
			} else if !returned {
				v = broken("the tool ended its goroutine")
			}
			result <- v
		}()
		v = f()
		returned = true
	}()
	return result
}

func panicMessage(v any) string { return fmt.Sprintf("the tool panicked: %v", v) }

// flight is something that a tool does for a call until a deadline.
type flight[T any] struct {
	call     *Call
	deadline time.Time
	do       func(ctx context.Context, c *Call) T
	broken   func(message string) T
	// landed, if not nil, is called when the tool returns, however late.
	landed func()
}

// fly waits for the tool until the grace after the deadline, or after the end of
// ctx; see [Call.Cut]. ok is false if the tool had not returned by then: it is
// left behind, with a copy of the call that announces nothing any more.
func (f flight[T]) fly(ctx context.Context) (v T, ok bool) {
	if f.call.Cut != nil {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithDeadline(ctx, f.deadline)
	defer cancel()
	c := *f.call
	c.Body = bytes.Clone(f.call.Body) // a key is that of one request, whatever the tool does with it
	s := &announcer{sent: f.call.Sent}
	c.Sent = s.announce
	result := apart(func() T {
		if f.landed != nil {
			defer f.landed()
		}
		return f.do(ctx, &c)
	}, f.broken)
	select {
	case v = <-result:
		return v, true
	case <-ctx.Done():
	case <-f.call.Cut:
		cancel()
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case v = <-result:
		return v, true
	case <-timer.C:
		s.leave()
		return v, false
	}
}

// announcer passes a tool's announcement on as long as somebody waits for the
// tool.
type announcer struct {
	mu   sync.Mutex // held while announcing: who listens may use the call
	sent func()     // nil when nobody waits
}

func (a *announcer) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sent != nil {
		a.sent()
	}
}

func (a *announcer) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent = nil
}
