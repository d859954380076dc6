package kvtest

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// cut cuts the power and opens the store's next life.
func (b *bundle) cut() {
	b.Helper()
	b.config.Cut(b.TB, b.store)
	_ = b.store.Close() // of a dead store; a process would not have come to it
	b.store = b.config.Open(b.TB, b.dir)
}

// everything lists all keys with their values.
func (b *bundle) everything() (all []string) {
	b.Helper()
	b.view(func(v kv.View) (err error) {
		all, err = list(v, kv.Range{})
		return err
	})
	return all
}

var cutRules = []rule{
	{"what was told to be durable is there after a cut", func(b *bundle) {
		for i := range 20 {
			var all []kv.Pending
			for n := range 6 {
				all = append(all, b.store.Commit(set(fmt.Sprintf("%d/%d/a", i, n), "1", fmt.Sprintf("%d/%d/b", i, n), "1")))
			}
			told := 0
			if i%4 > 0 {
				told = i % 4
				b.must(all[told])
				told++
			}
			b.cut()
			b.prefix(fmt.Sprint(i), told, len(all))
		}
		for i := range 20 {
			if told := i % 4; told > 0 {
				b.prefix(fmt.Sprint(i), told+1, 6)
			}
		}
	}},
	{"what is there after opening is durable", func(b *bundle) {
		for i := range 10 {
			for n := range 4 {
				b.store.Commit(set(fmt.Sprintf("%d/%d", i, n), "1"))
			}
			b.cut()
			all := b.everything()
			b.cut()
			if again := b.everything(); fmt.Sprint(all) != fmt.Sprint(again) {
				b.Fatalf("after opening: %q, after another cut: %q", all, again)
			}
		}
	}},
	{"a view shows nothing that a cut takes back", func(b *bundle) {
		for i := range 20 {
			key := fmt.Sprint("k", i)
			b.store.Commit(set(key, "1"))
			shown := b.there(key)
			b.cut()
			if shown && !b.there(key) {
				b.Fatal("a view showed what is not there after a cut")
			}
		}
	}},
	{"a chain is whole after a cut", func(b *bundle) {
		b.begin(1)
		for range 10 {
			head := b.head()
			c := kv.OpenChain(b.store, prefix, head)
			for n := range 5 {
				p := c.Append(fmt.Appendf(nil, "entry %d", c.Head().Seq+1), nil)
				if n == 1 {
					b.must(p)
				}
			}
			b.cut()
			after := b.head()
			if after.Seq < head.Seq+2 {
				b.Errorf("the head is at %d, %d was durable", after.Seq, head.Seq+2)
			}
			b.reads(int(after.Seq), after)
		}
	}},
	{"a store of an earlier life does nothing", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		old := b.store
		queued := old.Commit(set("k", "2"))
		b.cut()
		now := b.everything()
		b.fails(queued, kv.ErrStoreBroken)
		for _, p := range []kv.Pending{old.Commit(set("k", "3")), old.Commit(&kv.Batch{})} {
			if err := p.Wait(b.Context()); !dead(err) {
				b.Errorf("commit: got %v", err)
			}
		}
		if err := old.View(func(kv.View) error { return nil }); !dead(err) {
			b.Errorf("view: got %v", err)
		}
		if err := old.Reopen(b.Context()); !dead(err) {
			b.Errorf("reopen: got %v", err)
		}
		if after := b.everything(); fmt.Sprint(now) != fmt.Sprint(after) {
			b.Errorf("%q became %q", now, after)
		}
	}},
}

func dead(err error) bool { return errors.Is(err, kv.ErrStoreBroken) || errors.Is(err, kv.ErrClosed) }
