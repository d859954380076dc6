package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// leaseTime is how long a run stays its owner's without a sign of life. On a
// store that one process has alone it only matters between engines of that
// process; on a shared one it is what a dead owner costs.
const leaseTime = 30 * time.Second

// ownerName names an engine, for people and for leases.
func ownerName() string {
	name := fmt.Sprintf("pid-%d-%s", os.Getpid(), ulid.Make())
	if machine, err := os.Hostname(); err == nil {
		name = machine + "-" + name
	}
	return name
}

// own takes the run's lease: a run has one body, whoever asks.
func (b *body) own() error {
	lease, err := b.engine.store.Lease(b.era.stopping, runLease(b.id), b.engine.id, leaseTime)
	var taken *kv.LeasedError
	switch {
	case errors.As(err, &taken):
		return fmt.Errorf("%w: run %s, by %s", ErrAlreadyRunning, b.id, taken.Owner)
	case err != nil:
		return unavailable(err)
	}
	b.engine.mu.Lock()
	b.lease = lease
	b.engine.mu.Unlock()
	return nil
}

func runLease(run string) []byte { return []byte("r/" + run) }

// disown gives the run's lease up.
func (b *body) disown() {
	b.engine.mu.Lock()
	lease := b.lease
	b.lease = nil
	b.engine.mu.Unlock()
	if lease != nil {
		_ = lease.Release(context.Background()) // it ends by itself
	}
}

// keep renews the leases of this engine while it lives, and looks after the
// store meanwhile.
func (e *Engine) keep() {
	tick := time.NewTicker(leaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-e.closing.Done():
			return
		case <-tick.C:
		}
		for _, b := range e.bodies() {
			b.renew(e.closing)
		}
		e.life.renew(e.closing)
		if h := e.store.Health(); h.Condition == kv.Broken {
			e.ail(fmt.Errorf("%w: %s", kv.ErrStoreBroken, h.Reason))
		}
	}
}

// bodies are the bodies of this moment.
func (e *Engine) bodies() []*body {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := make([]*body, 0, len(e.live))
	for _, b := range e.live {
		all = append(all, b)
	}
	return all
}

// holds returns the body's lease and when it ends, zero for never.
func (b *body) holds() (kv.Lease, time.Time) {
	b.engine.mu.Lock()
	lease := b.lease
	b.engine.mu.Unlock()
	if lease == nil {
		return nil, time.Time{}
	}
	return lease, lease.Until()
}

// renew prolongs the body's lease; one that is lost ends the body.
func (b *body) renew(ctx context.Context) {
	lease, until := b.holds()
	if lease == nil || until.IsZero() {
		return
	}
	if err := lease.Renew(ctx, leaseTime); errors.Is(err, kv.ErrLeaseLost) {
		b.fence(fmt.Errorf("%w: run %s: %w", ErrFenced, b.id, err))
	}
}

// holdUntil makes sure that the run is this body's until a time: what is sent
// under its lease must have ended before somebody else may send it.
func (b *body) holdUntil(ctx context.Context, at time.Time) error {
	lease, until := b.holds()
	if lease == nil || until.IsZero() || until.After(at) {
		return nil
	}
	if err := lease.Renew(ctx, time.Until(at)+leaseTime); err != nil {
		return fmt.Errorf("%w: run %s: its lease cannot be renewed: %w", ErrFenced, b.id, err)
	}
	if until = lease.Until(); !until.IsZero() && !until.After(at) {
		return fmt.Errorf("%w: run %s: its lease ends before the call would", ErrFenced, b.id)
	}
	return nil
}

// fence ends the body, and its calls in flight: the run is not its own any more.
func (b *body) fence(err error) {
	b.cancel(err)
	b.sever()
}

// kindHTTP is the kind of Pawl's own tool: a program that is killed while it
// waits there was not killed by the run.
const kindHTTP = "http"

// ownedLedger lets nothing be sent but under a lease that outlives the try.
type ownedLedger struct {
	host.Ledger
	body    *body
	timeout time.Duration
}

// Intend implements [host.Ledger].
func (o ownedLedger) Intend(ctx context.Context, i host.Intent) (host.Barrier, error) {
	b, err := o.Ledger.Intend(ctx, i)
	return ownedBarrier{b, o}, err
}

// Retry implements [host.Ledger].
func (o ownedLedger) Retry(ctx context.Context, r host.Retry) (host.Barrier, error) {
	b, err := o.Ledger.Retry(ctx, r)
	return ownedBarrier{b, o}, err
}

// ownedBarrier is passed once the record is durable and the lease long enough.
type ownedBarrier struct {
	host.Barrier
	ledger ownedLedger
}

// Wait implements [host.Barrier].
func (o ownedBarrier) Wait(ctx context.Context) error {
	if err := o.Barrier.Wait(ctx); err != nil {
		return err
	}
	err := o.ledger.body.holdUntil(ctx, time.Now().Add(o.ledger.timeout))
	if err != nil {
		o.ledger.body.fence(err)
	}
	return err
}
