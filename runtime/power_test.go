package runtime_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// power is a store whose power can be cut: what nobody had waited for by then
// is lost, and nothing can be written after it. An engine on it ends as a
// killed process does, without the process.
type power struct {
	kv.Store
	mu    sync.Mutex
	off   bool
	queue []*unwritten
}

// unwritten is a batch that waits for somebody to wait for it.
type unwritten struct {
	power   *power
	batch   *kv.Batch
	done    chan struct{}
	written kv.Pending
	err     error
}

func (p *power) Commit(b *kv.Batch) kv.Pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := &unwritten{power: p, batch: b, done: make(chan struct{})}
	p.queue = append(p.queue, u)
	if p.off || b.Urgent {
		p.write()
	}
	return u
}

// write writes what is queued, or loses it without power.
func (p *power) write() {
	for _, u := range p.queue {
		if u.err = kv.ErrStoreBroken; !p.off {
			u.written = p.Store.Commit(u.batch)
		}
	}
	for _, u := range p.queue {
		if u.written != nil {
			u.err = u.written.Wait(context.Background())
		}
		close(u.done)
	}
	p.queue = nil
}

// Reopen gives nothing back: the power stays off.
func (p *power) Reopen(context.Context) error { return kv.ErrClosed }

func (p *power) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	p.write()
}

func (u *unwritten) Wait(context.Context) error {
	u.power.mu.Lock()
	defer u.power.mu.Unlock()
	u.power.write()
	return u.err
}

func (u *unwritten) Done() <-chan struct{} { return u.done }
func (u *unwritten) Err() error            { return u.err }
func (u *unwritten) Number() uint64        { return u.written.Number() }

// crashAt makes the engines to come lose their power at the first event that
// fits; nil ends that.
func (b *bundle) crashAt(fits func(pawl.Event) bool) {
	b.wrap, b.opts.Observer = nil, nil
	if fits == nil {
		return
	}
	var now *power
	b.wrap = func(s kv.Store) kv.Store {
		now = &power{Store: s}
		return now
	}
	b.opts.Observer = func(e pawl.Event) {
		if fits(e) {
			now.cut()
		}
	}
}

// crashed waits until the engine has given the run up, for whatever reason.
func (b *bundle) crashed(r *pawl.Run) {
	b.t.Helper()
	// A run may wait for its next attempt before the power is cut.
	if _, err := r.Wait(b.t.Context(), time.Minute); err == nil {
		b.t.Fatal("the power was not cut")
	}
}

func at(kind pawl.EventKind) func(pawl.Event) bool {
	return func(e pawl.Event) bool { return e.Kind == kind }
}

// keyedAndRead are tools in this process and what reached them.
func keyedAndRead() (keyed, read *counter, tools []host.Tool) {
	keyed, read = new(counter), new(counter)
	return keyed, read, []host.Tool{
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		read.tool("read", host.Contract{Effect: host.Read}, nil),
	}
}

// document is the run's checkpoint, checked against its schema.
func (b *bundle) document(ref string) *pawl.Checkpoint {
	b.t.Helper()
	c, err := b.find(ref).Checkpoint()
	if err != nil {
		b.t.Fatal(err)
	}
	checkDocument(b.t, c)
	return c
}

// resume goes on with the run and waits until it rests.
func (b *bundle) resume(ref string) *pawl.Checkpoint {
	b.t.Helper()
	r := b.find(ref)
	if err := r.Resume(); err != nil {
		b.t.Fatal(err)
	}
	return b.rest(r)
}

// keysOf are all keys of a store with their values.
func keysOf(t testing.TB, store kv.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := store.View(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{}) {
			if err != nil {
				return err
			}
			all[string(item.Key)] = string(item.Value)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
