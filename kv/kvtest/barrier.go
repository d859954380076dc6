package kvtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

var barrierRules = []rule{
	{"waiting for a batch is waiting for those before it", func(b *bundle) {
		var earlier []kv.Pending
		for i := range 100 {
			earlier = append(earlier, b.store.Commit(set(fmt.Sprintf("k%d", i), "x")))
		}
		last := b.store.Commit(&kv.Batch{})
		b.must(last)
		for i, p := range earlier {
			select {
			case <-p.Done():
			default:
				b.Fatalf("batch %d is not done, the one that was waited for is", i)
			}
			if err := p.Err(); err != nil {
				b.Fatalf("batch %d: %v", i, err)
			}
			b.has(fmt.Sprintf("k%d", i), "x")
		}
	}},
	{"an urgent batch needs nobody to wait", func(b *bundle) {
		earlier := b.store.Commit(set("a", "1"))
		urgent := set("b", "1")
		urgent.Urgent = true
		<-b.store.Commit(urgent).Done()
		<-earlier.Done()
		b.has("a", "1")
		b.has("b", "1")
	}},
	{"a context ends the waiting, not the batch", func(b *bundle) {
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		p := b.store.Commit(set("k", "v"))
		if err := p.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
			b.Fatalf("wait: %v", err)
		}
		<-p.Done()
		if err := p.Err(); err != nil {
			b.Fatal(err)
		}
		if err := p.Wait(ctx); err != nil {
			b.Fatalf("a durable batch says %v", err)
		}
		b.has("k", "v")
	}},
	{"numbers are those of physical commits", func(b *bundle) {
		first := b.store.Commit(set("a", "1"))
		second := b.store.Commit(set("b", "1"))
		b.must(second)
		b.must(first)
		third := b.store.Commit(set("c", "1"))
		b.must(third)
		if first.Number() == 0 || first.Number() > second.Number() || second.Number() >= third.Number() {
			b.Errorf("got %d, %d, %d", first.Number(), second.Number(), third.Number())
		}
	}},
}

var lifeRules = []rule{
	{"close writes what is queued", func(b *bundle) {
		p := b.store.Commit(set("k", "v"))
		b.reopen()
		<-p.Done()
		if err := p.Err(); err != nil {
			b.Fatal(err)
		}
		b.has("k", "v")
	}},
	{"what was durable is there after opening again", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "b", "1")))
		remove := set("c", "1")
		remove.Delete([]byte("a"))
		b.must(b.store.Commit(remove))
		for range 3 {
			b.reopen()
			b.has("a", "")
			b.has("b", "1")
			b.has("c", "1")
			b.must(b.store.Commit(set("d", time.Now().String())))
		}
	}},
	{"the store is exclusive or can be shared", func(b *bundle) {
		if _, lacks := b.config.Lacks[Sharing]; b.store.Exclusive() != lacks {
			b.Errorf("Exclusive is %v, Config.Lacks says that it is not shared: %v", b.store.Exclusive(), lacks)
		}
	}},
	{"a closed store says so", func(b *bundle) {
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.fails(b.store.Commit(set("k", "v")), kv.ErrClosed)
		err := b.store.View(func(kv.View) error { b.Error("view of a closed store"); return nil })
		if !errors.Is(err, kv.ErrClosed) {
			b.Errorf("view: got %v", err)
		}
		if err := b.store.Close(); !errors.Is(err, kv.ErrClosed) {
			b.Errorf("close: got %v", err)
		}
	}},
}
