package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// recorder is a test that may fail without failing the one it runs in.
type recorder struct {
	testing.TB
	ctx      context.Context
	cancel   context.CancelFunc
	mu       sync.Mutex
	failed   bool
	text     string
	cleanups []func()
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// over ends the goroutine of the test, as FailNow does.
type over struct{}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text += strings.TrimSpace(text) + "\n"
}

func (r *recorder) FailNow()                          { r.Fail(); panic(over{}) }
func (r *recorder) Log(args ...any)                   { r.note(fmt.Sprintln(args...)) }
func (r *recorder) Logf(format string, args ...any)   { r.note(fmt.Sprintf(format, args...)) }
func (r *recorder) Error(args ...any)                 { r.Log(args...); r.Fail() }
func (r *recorder) Errorf(format string, args ...any) { r.Logf(format, args...); r.Fail() }
func (r *recorder) Fatal(args ...any)                 { r.Log(args...); r.FailNow() }
func (r *recorder) Fatalf(format string, args ...any) { r.Logf(format, args...); r.FailNow() }
func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) TempDir() string                   { return fmt.Sprintf("%p", r) }
func (r *recorder) Cleanup(f func())                  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Helper()                           {}

// record checks a rule and returns what it says against the store, or "".
func record(t *testing.T, rule rule, c Config) string {
	ctx, cancel := context.WithCancel(t.Context())
	r := &recorder{TB: t, ctx: ctx, cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.guard(func() { rule.check(setup(r, &c)) })
		cancel()
		for _, f := range slices.Backward(r.cleanups) {
			r.guard(f)
		}
	}()
	<-done
	if r.Failed() {
		return r.text + "."
	}
	return ""
}

// guard runs f; a panic is a failure, as in a test.
func (r *recorder) guard(f func()) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, over:
		default:
			r.Errorf("panic: %v", p)
		}
	}()
	f()
}

// liar is a store that breaks one promise; a nil function keeps it.
type liar struct {
	kv.Store
	disk   *Disk
	commit func(l *liar, b *kv.Batch) kv.Pending
	view   func(l *liar, f func(kv.View) error) error
	lease  func(l *liar, name []byte, owner string, ttl time.Duration) (kv.Lease, error)
	watch  func(l *liar, prefix []byte, changed chan<- struct{}) func()
	reopen func(l *liar) error
	health func(l *liar) kv.Health

	mu      sync.Mutex // guards what follows
	batches []*kv.Batch
	told    []chan<- struct{}
}

func (l *liar) Commit(b *kv.Batch) kv.Pending {
	if l.commit != nil {
		return l.commit(l, b)
	}
	return l.Store.Commit(b)
}

func (l *liar) View(f func(kv.View) error) error {
	if l.view != nil {
		return l.view(l, f)
	}
	return l.Store.View(f)
}

func (l *liar) Lease(ctx context.Context, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
	if l.lease != nil {
		return l.lease(l, name, owner, ttl)
	}
	return l.Store.Lease(ctx, name, owner, ttl)
}

func (l *liar) Watch(prefix []byte, changed chan<- struct{}) func() {
	if l.watch != nil {
		return l.watch(l, prefix, changed)
	}
	return l.Store.Watch(prefix, changed)
}

func (l *liar) Reopen(ctx context.Context) error {
	if l.reopen != nil {
		return l.reopen(l)
	}
	return l.Store.Reopen(ctx)
}

func (l *liar) Health() kv.Health {
	if l.health != nil {
		return l.health(l)
	}
	return l.Store.Health()
}

// lying returns the configuration of stores that lie makes lie.
func lying(shared bool, lie func(*liar)) Config {
	disks := map[string]*Disk{}
	honest := func(s kv.Store) *liar { return s.(*liar) }
	disk := func(dir string) *Disk {
		if disks[dir] == nil {
			disks[dir] = NewDisk(&DiskOptions{Shared: shared, Seed: 1})
		}
		return disks[dir]
	}
	c := Config{
		patience: time.Second,
		Open: func(t testing.TB, dir string) kv.Store {
			store, err := disk(dir).Open()
			if err != nil {
				t.Fatal(err)
			}
			l := &liar{Store: store, disk: disk(dir)}
			lie(l)
			return l
		},
		Break: func(_ testing.TB, s kv.Store) {
			honest(s).disk.At(1, Written, func() error { return context.DeadlineExceeded })
		},
		Cut:  func(_ testing.TB, s kv.Store) { honest(s).disk.Cut() },
		Fill: func(_ testing.TB, s kv.Store, full bool) { honest(s).disk.Fill(full) },
		Hold: func(_ testing.TB, dir string) { disk(dir).Hold("It is a copy.") },
		Pass: func(_ testing.TB, s kv.Store, d time.Duration) { honest(s).disk.Pass(d) },
	}
	if !shared {
		c.Lacks = map[Ability]string{Sharing: "one store at a time"}
	}
	return c
}

// without returns a copy of the batch with less in it.
func without(b *kv.Batch, less func(*kv.Batch)) *kv.Batch {
	c := *b
	less(&c)
	return &c
}

// eager is a lease that cannot be lost.
type eager struct{ kv.Lease }

func (eager) Renew(context.Context, time.Duration) error { return nil }

// told is a batch that is said to be durable at once.
type told struct{ kv.Pending }

func (told) Wait(context.Context) error { return nil }
func (told) Err() error                 { return nil }

// newer reads a view's keys from what has been queued, durable or not.
type newer struct {
	kv.View
	batches []*kv.Batch
}

func (v newer) Get(key []byte) ([]byte, error) {
	for _, b := range slices.Backward(v.batches) {
		for _, c := range slices.Backward(b.Changes) {
			if bytes.Equal(c.Key, key) && !c.Delete && len(b.Requirements) == 0 {
				return c.Value, nil
			}
		}
	}
	return v.View.Get(key)
}

var lies = []struct {
	name   string
	shared bool
	lie    func(*liar)
	// seen is one of the rules that must tell.
	seen string
}{
	{"a durable commit is lost", false, func(l *liar) {
		if items := l.disk.durable.items; len(items) > 0 {
			l.disk.Damage(items[len(items)-1].key, nil)
		}
	}, "what was told to be durable is there after a cut"},
	{"a batch is told to be durable before it is", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending { return told{l.Store.Commit(b)} }
	}, "what was told to be durable is there after a cut"},
	{"a view shows what is not durable", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.batches = append(l.batches, b)
			return l.Store.Commit(b)
		}
		l.view = func(l *liar, f func(kv.View) error) error {
			return l.Store.View(func(v kv.View) error {
				l.mu.Lock()
				defer l.mu.Unlock()
				return f(newer{v, l.batches})
			})
		}
	}, "a view shows nothing that a cut takes back"},
	{"two batches change places", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			l.mu.Lock()
			defer l.mu.Unlock()
			if before := l.batches; len(before) == 1 {
				l.batches = nil
				p := l.Store.Commit(b)
				l.Store.Commit(before[0])
				return p
			}
			l.batches = append(l.batches, b)
			return l.Store.Commit(&kv.Batch{})
		}
	}, "later batches win"},
	{"half of a batch is applied", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			return l.Store.Commit(without(b, func(c *kv.Batch) { c.Changes = c.Changes[:(len(c.Changes)+1)/2] }))
		}
	}, "views see whole batches"},
	{"a batch is applied in two halves", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			half := len(b.Changes) / 2
			l.Store.Commit(without(b, func(c *kv.Batch) { c.Changes, c.Urgent = c.Changes[:half], false }))
			return l.Store.Commit(without(b, func(c *kv.Batch) { c.Changes = c.Changes[half:] }))
		}
	}, "what was told to be durable is there after a cut"},
	{"a requirement on a value is ignored", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			return l.Store.Commit(without(b, func(c *kv.Batch) {
				c.Requirements = slices.DeleteFunc(slices.Clone(c.Requirements), func(r kv.Requirement) bool { return r.Value != nil })
			}))
		}
	}, "of two owners one wins"},
	{"a requirement of absence is ignored", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			return l.Store.Commit(without(b, func(c *kv.Batch) {
				c.Requirements = slices.DeleteFunc(slices.Clone(c.Requirements), func(r kv.Requirement) bool { return r.Value == nil })
			}))
		}
	}, "requirements"},
	{"a requirement is checked when the batch is queued", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			l.disk.mu.Lock()
			err := l.disk.durable.meets(b, l.disk.now)
			l.disk.mu.Unlock()
			if err != nil {
				return l.Store.Commit(without(b, func(c *kv.Batch) { c.Require([]byte("?"), nil) }))
			}
			return l.Store.Commit(without(b, func(c *kv.Batch) { c.Requirements = nil }))
		}
	}, "requirements see earlier batches"},
	{"keys do not expire", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			return l.Store.Commit(without(b, func(c *kv.Batch) {
				c.Changes = slices.Clone(c.Changes)
				for i := range c.Changes {
					c.Changes[i].Expires = time.Time{}
				}
			}))
		}
	}, "an expired key is absent"},
	{"a name is leased twice", false, func(l *liar) {
		l.lease = func(l *liar, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
			return l.Store.Lease(context.Background(), fmt.Appendf(nil, "%s/%s", name, owner), owner, ttl)
		}
	}, "a lease is one owner's"},
	{"a lease never ends", false, func(l *liar) {
		l.lease = func(l *liar, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
			return l.Store.Lease(context.Background(), name, owner, 1e6*time.Hour)
		}
	}, "a lease is over when its time is"},
	{"a lost lease can be renewed", false, func(l *liar) {
		l.lease = func(l *liar, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
			lease, err := l.Store.Lease(context.Background(), name, owner, ttl)
			return eager{lease}, err
		}
	}, "a released name is free"},
	{"leases are each store's own", true, func(l *liar) {
		l.lease = func(l *liar, name []byte, owner string, ttl time.Duration) (kv.Lease, error) {
			return l.Store.Lease(context.Background(), fmt.Appendf(nil, "%s/%p", name, l), owner, ttl)
		}
	}, "a lease holds in both"},
	{"watchers are told when a batch is queued", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, c := range l.told {
				select {
				case c <- struct{}{}:
				default:
				}
			}
			return l.Store.Commit(b)
		}
		l.watch = func(l *liar, _ []byte, changed chan<- struct{}) func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.told = append(l.told, changed)
			return func() {}
		}
	}, "what a watcher hears of is durable"},
	{"watchers are not told", false, func(l *liar) {
		l.watch = func(*liar, []byte, chan<- struct{}) func() { return func() {} }
	}, "a watcher hears of a change"},
	{"watchers hear everything", false, func(l *liar) {
		l.watch = func(l *liar, _ []byte, changed chan<- struct{}) func() { return l.Store.Watch(nil, changed) }
	}, "a watcher hears of nothing else"},
	{"stopping ends all that a channel watches", false, func(l *liar) {
		stops := map[chan<- struct{}][]func(){}
		l.watch = func(l *liar, prefix []byte, changed chan<- struct{}) func() {
			stops[changed] = append(stops[changed], l.Store.Watch(prefix, changed))
			return func() {
				for _, stop := range stops[changed] {
					stop()
				}
			}
		}
	}, "a channel may watch several prefixes"},
	{"a watcher cannot be stopped", false, func(l *liar) {
		l.watch = func(l *liar, prefix []byte, changed chan<- struct{}) func() {
			l.Store.Watch(prefix, changed)
			return func() {}
		}
	}, "a stopped watcher hears no more"},
	{"a full store says that it is well", false, func(l *liar) {
		l.health = func(l *liar) kv.Health { return kv.Health{Condition: kv.Healthy} }
	}, "without space nothing is written"},
	{"a store forgets that it is held", false, func(l *liar) {
		held := l.Store.Health().Condition == kv.Held
		l.disk.mu.Lock()
		l.disk.held = ""
		l.disk.mu.Unlock()
		l.health = func(l *liar) kv.Health {
			h := l.Store.Health()
			if held {
				h.Condition, h.Reason = kv.Held, "It is a copy."
			}
			return h
		}
	}, "a held store can be used and stays held"},
	{"reopening brings back what was lost", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.batches = append(l.batches, b)
			return l.Store.Commit(b)
		}
		l.reopen = func(l *liar) error {
			err := l.Store.Reopen(context.Background())
			if n := len(l.batches); err == nil && n > 0 {
				l.Store.Commit(without(l.batches[n-1], func(c *kv.Batch) { c.Urgent = true }))
			}
			return err
		}
	}, "what landed of a failed commit is a prefix"},
	{"reopening does nothing", false, func(l *liar) {
		l.reopen = func(*liar) error { return nil }
	}, "a failed commit breaks the store"},
	{"a store that broke works on", false, func(l *liar) {
		l.commit = func(l *liar, b *kv.Batch) kv.Pending {
			_ = l.Store.Reopen(context.Background())
			return l.Store.Commit(b)
		}
		l.view = func(l *liar, f func(kv.View) error) error {
			_ = l.Store.Reopen(context.Background())
			return l.Store.View(f)
		}
	}, "a failed commit breaks the store"},
}

// Each promise that a store breaks is seen by the rule that is about it, and a
// store that keeps them all by none.
func TestLyingStoresAreFoundOut(t *testing.T) {
	t.Parallel()
	for _, row := range lies {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := find(t, row.seen)
			if said := record(t, r, lying(row.shared, func(*liar) {})); said != "" {
				t.Fatalf("an honest store is accused: %s", said)
			}
			if record(t, r, lying(row.shared, row.lie)) == "" {
				t.Errorf("the rule %q does not see it", row.seen)
			}
		})
	}
}

func find(t *testing.T, name string) rule {
	for _, g := range groups() {
		for _, r := range g.rules {
			if r.name == name {
				return r
			}
		}
	}
	t.Fatalf("no rule %q", name)
	return rule{}
}
