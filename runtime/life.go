package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// life is the store's record of an engine that executes runs: who finds it
// later, without its engine, knows of an unclean stop. It is made when the
// first run is entered; an engine that only reads has none.
type life struct {
	mu    sync.Mutex // guards what follows
	begun bool
	stops []time.Time
	lease kv.Lease // others see by it that the engine is alive
}

// begin makes the record, once. Nobody waits for it: the charge of an entry,
// or a start, is durable only with it.
func (l *life) begin(e *Engine) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		return nil
	}
	if l.lease == nil {
		if l.lease, err = e.store.Lease(e.closing, lifeLease(e.id), e.id, leaseTime); err != nil {
			return unavailable(err)
		}
	}
	l.stops, err = e.book.Begun(e.id, e.alive, time.Now())
	l.begun = err == nil
	return err
}

func lifeLease(engine string) []byte { return []byte("u/" + engine) }

// alive reports whether another engine is there, as far as its lease tells.
func (e *Engine) alive(engine string) bool {
	lease, err := e.store.Lease(e.closing, lifeLease(engine), e.id, leaseTime)
	if err != nil {
		return true
	}
	_ = lease.Release(e.closing) // it ends by itself
	return false
}

// unclean counts the unclean stops that the engine found when it began.
func (l *life) unclean() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.stops)
}

// reset forgets that the record was made: the store may have lost it. What was
// unclean before is no news.
func (l *life) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun, l.stops = false, nil
}

func (l *life) renew(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease != nil && !l.lease.Until().IsZero() {
		_ = l.lease.Renew(ctx, leaseTime) // a lost one is told as a stop, no more
	}
}

// end records a stop in good order. If it cannot, the stop counts as unclean.
func (l *life) end(e *Engine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		if err := e.book.Ended(context.Background(), e.id); err != nil {
			e.opts.Logger.Warn("stop not recorded", keyError, err)
		}
	}
	if l.lease != nil {
		_ = l.lease.Release(context.Background()) // it ends by itself
	}
}
