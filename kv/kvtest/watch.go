package kvtest

import (
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// watch watches keys until the rule ends.
func (b *bundle) watch(s kv.Store, prefix string) <-chan struct{} {
	b.Helper()
	changed := make(chan struct{}, 1)
	b.Cleanup(s.Watch([]byte(prefix), changed))
	return changed
}

// hears waits for a watcher's next value.
func (b *bundle) hears(changed <-chan struct{}) {
	b.Helper()
	patience := b.config.patience
	if patience == 0 {
		patience = 10 * time.Second
	}
	select {
	case _, ok := <-changed:
		if !ok {
			b.Fatal("the watcher's channel is closed")
		}
	case <-time.After(patience):
		b.Fatal("the watcher hears nothing")
	}
}

// silent expects that a watcher has been told nothing.
func (b *bundle) silent(changed <-chan struct{}) {
	b.Helper()
	select {
	case _, ok := <-changed:
		if ok {
			b.Error("the watcher was told of a change that was none")
		}
	default:
	}
}

var watchRules = []rule{
	{"a watcher hears of a change", func(b *bundle) {
		b.must(b.store.Commit(set("p/old", "1")))
		under, all := b.watch(b.store, "p/"), b.watch(b.store, "")
		b.silent(under)
		b.must(b.store.Commit(set("p/new", "1")))
		b.hears(under)
		b.hears(all)
		remove := &kv.Batch{}
		remove.Delete([]byte("p/old"))
		b.must(b.store.Commit(remove))
		b.hears(under)
		b.hears(all)
	}},
	{"a watcher hears of nothing else", func(b *bundle) {
		changed := b.watch(b.store, "p/")
		b.must(b.store.Commit(set("p", "1", "q/", "1", "p0", "1", "o/p/", "1")))
		b.silent(changed)
		failed := set("p/1", "1")
		failed.Require([]byte("no such key"), []byte("x"))
		b.fails(b.store.Commit(failed), kv.ErrRequirement)
		b.silent(changed)
	}},
	{"what a watcher hears of is durable", func(b *bundle) {
		changed := b.watch(b.store, "p/")
		for i := range 100 {
			batch := set("p/n", fmt.Sprint(i+1))
			batch.Urgent = i%2 == 0
			p := b.store.Commit(batch)
			if !batch.Urgent {
				go func() { _ = p.Wait(b.Context()) }()
			}
			// It may hear more than once, but not for the last time too early.
			for n := 0; n <= i; {
				b.hears(changed)
				var err error
				if n, err = b.number("p/n"); err != nil && i > 0 {
					b.Fatal(err)
				}
			}
		}
	}},
	{"changes that nobody has received are one value", func(b *bundle) {
		changed := b.watch(b.store, "p/")
		for i := range 50 {
			b.must(b.store.Commit(set("p/n", fmt.Sprint(i))))
		}
		b.hears(changed)
		more := 0
		for len(changed) > 0 {
			<-changed
			more++
		}
		if more > 1 { // the last may have come meanwhile
			b.Errorf("%d more values", more)
		}
	}},
	{"a channel may watch several prefixes", func(b *bundle) {
		changed := make(chan struct{}, 1)
		stop := b.store.Watch([]byte("p/"), changed)
		b.Cleanup(b.store.Watch([]byte("q/"), changed))
		b.must(b.store.Commit(set("p/1", "1")))
		b.hears(changed)
		stop()
		other := b.watch(b.store, "p/")
		b.must(b.store.Commit(set("p/2", "1")))
		b.hears(other)
		b.silent(changed)
		b.must(b.store.Commit(set("q/1", "1")))
		b.hears(changed)
	}},
	{"a stopped watcher hears no more", func(b *bundle) {
		changed := make(chan struct{}, 1)
		stop := b.store.Watch([]byte("p/"), changed)
		other := b.watch(b.store, "p/")
		stop()
		stop()
		b.must(b.store.Commit(set("p/1", "1")))
		b.hears(other)
		b.silent(changed)
	}},
	{"the store does not keep what is watched", func(b *bundle) {
		prefix, changed := []byte("p/"), make(chan struct{}, 1)
		defer b.store.Watch(prefix, changed)()
		copy(prefix, "xx")
		b.must(b.store.Commit(set("p/1", "1")))
		b.hears(changed)
	}},
}

var reopenWatchRules = []rule{
	{"watchers outlast reopening", func(b *bundle) {
		changed := b.watch(b.store, "p/")
		b.crack(set("q", "1"))
		b.mend()
		for len(changed) > 0 { // reopening may be heard of
			<-changed
		}
		b.must(b.store.Commit(set("p/1", "1")))
		b.hears(changed)
	}},
	{"what a reopening shows is heard of", func(b *bundle) {
		changed := b.watch(b.store, "p/")
		b.crack(set("p/1", "1"))
		b.mend()
		if n, err := b.number("p/1"); err == nil && n == 1 {
			b.hears(changed)
		}
	}},
}
