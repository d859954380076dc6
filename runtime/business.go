package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// businessCheck is how often a call that waits for a business key looks whether
// it may go on, beside being woken.
const businessCheck = 2 * time.Minute

// keys lets one call at a time use a business key in this process, so that the
// requirement of its intent fails only where another process shares the store.
// It is safe for concurrent use.
type keys struct {
	mu   sync.Mutex // guards what follows
	used map[string]*keyUse
}

// keyUse is a key that a call uses, or whose last receipt is not durable yet.
type keyUse struct {
	run     string // "" if nobody uses it
	sending bool   // it may take long
	changed chan struct{}
	last    kv.Pending // nil if there is nothing to wait for
}

// take waits until nobody decides about the key, and gives it to the run. If
// another run sends under it, take returns that one.
func (k *keys) take(ctx context.Context, name, run string) (last kv.Pending, holder string, err error) {
	for {
		k.mu.Lock()
		u := k.used[name]
		if u == nil {
			u = &keyUse{changed: make(chan struct{})}
			if k.used == nil {
				k.used = map[string]*keyUse{}
			}
			k.used[name] = u
		}
		if u.run == "" {
			u.run = run
			last = u.last
			k.mu.Unlock()
			return last, "", nil
		}
		holder, busy, sending := u.run, u.changed, u.sending
		k.mu.Unlock()
		if sending {
			return nil, holder, nil
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
	}
}

// send says that the user of the key begins to send.
func (k *keys) send(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.used[name]
	u.sending = true
	k.change(u)
}

// release gives the key back. Who takes it next waits until last has landed.
func (k *keys) release(name string, last kv.Pending) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.used[name]
	u.run, u.sending, u.last = "", false, last
	k.change(u)
	for name, u := range k.used {
		if u.run == "" && landed(u.last) {
			delete(k.used, name)
		}
	}
}

func (k *keys) change(u *keyUse) {
	close(u.changed)
	u.changed = make(chan struct{})
}

// landed reports whether nobody has to wait for p: what is durable tells all,
// also if p has failed.
func landed(p kv.Pending) bool {
	if p == nil {
		return true
	}
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

// stands says how it stands with a key: some call of this process is being sent
// under it, or one has come to an end whose receipt is still on its way. Whoever
// takes the key waits for that.
func (k *keys) stands(name string) (sending, landing bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	u := k.used[name]
	if u == nil {
		return false, false
	}
	return u.sending, u.run == "" && !landed(u.last)
}

// use is a call's use of its business key.
type use struct {
	attempt *attempt
	hold    *journal.Hold
}

// shared reports whether a call has a business key that holds across runs: on a
// read it is nothing but part of the request.
func shared(r *sandbox.Request, class host.Class) bool { return r.Head.Key != "" && class != host.Read }

// errTooLate ends an attempt whose record met one of another engine: that has
// just taken the business key, or changed the value.
var errTooLate = errors.New("pawl: another engine was faster")

// tooLate marks the error of a record that met another one.
func tooLate(err error) error {
	if errors.Is(err, kv.ErrRequirement) {
		return fmt.Errorf("%w: %w", errTooLate, err)
	}
	return err
}

// business takes the business key of a call that changes something. Without a
// use and a reply the call has none. With a reply the guest gets what another
// call came to, or is refused.
func (a *attempt) business(ctx context.Context, r *sandbox.Request, class host.Class, c *host.Call, known *knowledge) (*use, *sandbox.Reply, error) {
	if !shared(r, class) {
		return nil, nil, nil
	}
	e := a.body.engine
	name := e.book.BusinessName(c.Tool, r.Head.Key)
	last, holder, err := e.keys.take(ctx, string(name), a.run.ID())
	if err != nil {
		return nil, nil, errStopped
	}
	if holder != "" {
		return nil, nil, a.waitForKey(r, c, name, holder)
	}
	u := &use{attempt: a, hold: &journal.Hold{Name: name}}
	reply, err := a.decide(ctx, r, class, c, known, u, last)
	if reply != nil || err != nil {
		u.release(nil)
		return nil, reply, err
	}
	return u, nil, nil
}

// decide says what the call may do with its key, which nobody else in this
// process uses now.
func (a *attempt) decide(ctx context.Context, r *sandbox.Request, class host.Class, c *host.Call, known *knowledge, u *use, last kv.Pending) (*sandbox.Reply, error) {
	if last != nil {
		// If it failed, that is the other run's trouble: the key is read below.
		if _ = last.Wait(ctx); ctx.Err() != nil {
			return nil, errStopped
		}
	}
	// Whether the step wants to see unknowns makes no other request of it.
	request, err := host.RequestHash(c.Tool, r.Head.Type, r.Head.Key, false, r.Body)
	if err != nil {
		return nil, err // refused before
	}
	if u.hold, err = a.body.engine.book.ReadHold(u.hold.Name, r.Head.Key, request); err != nil {
		return nil, err
	}
	b := u.hold.Record
	if known.past.Tries > 0 {
		return nil, nil // the call has the key already
	}
	if !b.Live() {
		c.Key = host.NewBusinessKey(a.body.engine.book.ID(), c.Tool, r.Head.Key, u.hold.Generation())
		if first := u.hold.First(); known.past.First.IsZero() {
			known.past.First = first
		}
		return nil, nil
	}
	if string(b.Request) != string(request[:]) {
		return a.refused(r, c, abi.Invalid, codeKeyConflict, fmt.Sprintf(
			"run %s has used the key %q of %s for another request; a key stands for one request", b.Run, r.Head.Key, c.Tool))
	}
	c.Key = host.NewBusinessKey(a.body.engine.book.ID(), c.Tool, r.Head.Key, b.Generation)
	switch {
	case b.State == journal.BusinessOpen:
		return nil, a.waitForKey(r, c, u.hold.Name, b.Run)
	case b.State == journal.BusinessUnknown && !r.Head.Unknown:
		return nil, &host.UndecidedError{
			Tool: c.Tool, Class: class, Key: c.Key, Last: time.UnixMicro(b.First),
			Reason: fmt.Sprintf("run %s has its business key %q, and the outcome there is unknown", b.Run, r.Head.Key),
		}
	}
	return a.borrow(ctx, r, class, c, known, u.hold)
}

// borrow gives the guest the receipt of the call that has the key.
func (a *attempt) borrow(ctx context.Context, r *sandbox.Request, class host.Class, c *host.Call, known *knowledge, h *journal.Hold) (*sandbox.Reply, error) {
	ledger := a.run.Ledger(a.index, r.Tool, c, host.Contract{Effect: class}, known.occurrence)
	ledger.Hold(h)
	receipt, err := a.run.Borrow(ledger, class)
	if err != nil {
		return nil, err
	}
	return a.reply(ctx, receipt)
}

// waitForKey makes the wait of a call whose key another one has.
func (a *attempt) waitForKey(r *sandbox.Request, c *host.Call, name []byte, holder string) error {
	return &leaving{journal.Wait{
		Step: a.index, Attempt: a.number, Call: c.Index, Code: journal.WaitKey, Tool: c.Tool, Business: name,
		Until: time.Now().Add(businessCheck).UnixMicro(), Waker: wakerRun + holder,
		Sentence: fmt.Sprintf("%s waits for the key %q of %s, under which run %s has a call that has not come to an end; it gets that one's receipt",
			a.step.Name, r.Head.Key, r.Tool, holder),
	}}
}

// release ends the use and lets those who wait for the key look at it.
func (u *use) release(last kv.Pending) {
	e := u.attempt.body.engine
	name := string(u.hold.Name)
	e.keys.release(name, last)
	e.awaken(func(w *journal.Wait) bool {
		return w.Code == journal.WaitKey && string(w.Business) == name && e.mayUse(w, "")
	})
}

// mayUse reports whether a call that waits for a business key may go on. The
// caller holds the engine's mu.
func (e *Engine) mayUse(w *journal.Wait, run string) bool {
	if sending, landing := e.keys.stands(string(w.Business)); sending || landing {
		return landing
	}
	h, err := e.book.ReadHold(w.Business, "", host.Hash{})
	return err == nil && (h.Record == nil || h.Record.State != journal.BusinessOpen || h.Record.Run == run)
}
