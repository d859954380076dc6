package host

import (
	"context"
	"time"
)

// pausedFor is how long a tool whose credentials were refused is left alone at
// least. Who runs many calls of it knows better when to try again.
const pausedFor = time.Minute

// resume takes over where the entry before left to wait. The wait is over: who
// goes on early means it.
func (p *pursuit) resume(w Waited) {
	p.sent, p.silent, p.answer = w.Sent, w.Asked, w.Last
	p.unknown = p.unknown && !w.Unapplied
	p.left = w.Unapplied
	p.notBefore = time.Now().Add(w.Last.RetryAfter)
	p.hung = w.Last.Code == codeHanging && p.call.Sends != nil
	switch {
	case p.sent > p.limit:
		p.granted, p.limit = true, p.sent
	case p.sent == p.limit && w.Unapplied:
		// Only one that was granted waits to be sent after the last of its tries.
		p.granted, p.limit = true, p.sent+1
	}
}

// pause waits until the time. A wait beyond the call's patience is an error.
func (p *pursuit) pause(ctx context.Context, until time.Time) error {
	if p.call.Patience > 0 && time.Until(until) > p.call.Patience {
		return p.leave(until)
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outlast waits until a live send of the key has returned. Nobody knows when
// that is, so a call with patience comes back for it.
func (p *pursuit) outlast(ctx context.Context, busy <-chan struct{}) error {
	var impatient <-chan time.Time
	if p.call.Patience > 0 {
		timer := time.NewTimer(p.call.Patience)
		defer timer.Stop()
		impatient = timer.C
	}
	select {
	case <-busy:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-impatient:
		err := p.leave(time.Now().Add(max(p.contract.MaxBackoff, p.call.Patience)))
		err.Hanging = true
		return err
	}
}

// paused is the error of refused credentials. They use up no try and no query.
func (p *pursuit) paused(after time.Duration) error {
	err := p.leave(time.Now().Add(max(pausedFor, after)))
	err.Paused = true
	return err
}

func (p *pursuit) leave(until time.Time) *WaitError {
	last := p.answer
	last.Response, last.Units = Response{}, nil
	// Of a wait for something else than the next sending, this is left.
	last.RetryAfter = max(0, p.next().Sub(until))
	return &WaitError{
		Tool: p.call.Tool, Key: p.call.Key, Until: until,
		Waited: Waited{Sent: p.sent, Asked: p.silent, Unapplied: !p.unknown, Last: last},
	}
}
