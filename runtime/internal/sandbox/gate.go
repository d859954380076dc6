package sandbox

import (
	"context"
	"time"
)

// gate lets a bounded number of guests execute at once: each occupies a thread
// for as long as it computes. A guest inside a call is outside the gate.
type gate chan struct{}

// turn is how long a computing guest may keep others waiting at the gate.
const turn = 10 * time.Millisecond

// pass is one guest's way through the gate. The zero value is outside.
type pass struct {
	gate   gate
	inside bool
	since  time.Time
}

// enter waits for a place. The error is that of an entry whose context ended.
func (p *pass) enter(ctx context.Context) error {
	select {
	case p.gate <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx)
	}
	p.inside, p.since = true, time.Now()
	return nil
}

// leave gives the place to whoever has waited longest. A guest that is outside
// already stays there.
func (p *pass) leave() {
	if p.inside {
		p.inside = false
		<-p.gate
	}
}

// yield lets the others go first once a turn is over; with nobody waiting it
// costs two operations on a channel.
func (p *pass) yield(ctx context.Context, now time.Time) error {
	if now.Sub(p.since) < turn {
		return nil
	}
	p.leave()
	return p.enter(ctx)
}
