package kvtest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pawl-dev/pawl/kv"
)

// crack breaks the store with a commit of the batch.
func (b *bundle) crack(batch *kv.Batch) {
	b.Helper()
	b.config.Break(b.TB, b.store)
	b.fails(b.store.Commit(batch), kv.ErrStoreBroken)
}

// mend opens a broken store anew.
func (b *bundle) mend() {
	b.Helper()
	if err := b.store.Reopen(b.Context()); err != nil {
		b.Fatalf("reopen: %v", err)
	}
}

// there reports whether a key is present.
func (b *bundle) there(key string) (there bool) {
	b.Helper()
	b.view(func(v kv.View) error {
		_, err := v.Get([]byte(key))
		if there = err == nil; errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	})
	return there
}

var reopenRules = []rule{
	{"a failed commit breaks the store", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		b.crack(set("k", "2"))
		b.is(kv.Broken)
		b.fails(b.store.Commit(set("l", "1")), kv.ErrStoreBroken)
		err := b.store.View(func(kv.View) error { b.Error("a view of a broken store"); return nil })
		if !errors.Is(err, kv.ErrStoreBroken) {
			b.Errorf("view: got %v", err)
		}
		b.mend()
		b.is(kv.Healthy)
		b.has("l", "")
	}},
	{"what reopening shows is there for good", func(b *bundle) {
		b.must(b.store.Commit(set("told", "1")))
		for i := range 3 {
			doubtful := fmt.Sprint("doubtful ", i)
			b.crack(set(doubtful, "1"))
			b.mend()
			b.has("told", "1")
			landed := b.there(doubtful)
			b.must(b.store.Commit(set(fmt.Sprint("later ", i), "1")))
			b.reopen()
			if again := b.there(doubtful); again != landed {
				b.Errorf("there after reopening: %v, after opening: %v", landed, again)
			}
			b.has(fmt.Sprint("later ", i), "1")
		}
	}},
	{"what landed of a failed commit is a prefix", func(b *bundle) {
		for i := range 10 {
			b.config.Break(b.TB, b.store)
			var all []kv.Pending
			for n := range 5 {
				all = append(all, b.store.Commit(set(fmt.Sprintf("%d/%d/a", i, n), "1", fmt.Sprintf("%d/%d/b", i, n), "1")))
			}
			for n := range all {
				b.fails(all[len(all)-1-n], kv.ErrStoreBroken)
			}
			b.mend()
			b.prefix(fmt.Sprint(i), 0, len(all))
		}
	}},
	{"a view shows nothing that reopening takes back", func(b *bundle) {
		for i := range 10 {
			key := fmt.Sprint("k", i)
			b.config.Break(b.TB, b.store)
			p := b.store.Commit(set(key, "1"))
			shown := b.there(key)
			b.fails(p, kv.ErrStoreBroken)
			b.mend()
			if shown && !b.there(key) {
				b.Fatal("a view showed what is not there after reopening")
			}
		}
	}},
	{"a chain goes on from its head", func(b *bundle) {
		b.begin(3)
		for range 3 {
			head := b.head()
			c := kv.OpenChain(b.store, prefix, head)
			b.config.Break(b.TB, b.store)
			first := c.Append(fmt.Appendf(nil, "entry %d", head.Seq+1), nil)
			second := c.Append(fmt.Appendf(nil, "entry %d", head.Seq+2), nil)
			b.fails(second, kv.ErrStoreBroken)
			b.fails(first, kv.ErrStoreBroken)
			b.mend()
			head = b.head()
			b.reads(int(head.Seq), head)
			next := kv.OpenChain(b.store, prefix, head)
			b.must(next.Append(fmt.Appendf(nil, "entry %d", head.Seq+1), nil))
			b.reads(int(head.Seq)+1, next.Head())
		}
	}},
	{"numbers go on", func(b *bundle) {
		before := b.store.Commit(set("k", "1"))
		b.must(before)
		b.crack(set("k", "2"))
		b.mend()
		after := b.store.Commit(set("k", "3"))
		b.must(after)
		if after.Number() <= before.Number() {
			b.Errorf("commit %d came after commit %d", after.Number(), before.Number())
		}
	}},
	{"reopening a store that is not broken", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		p := b.store.Commit(set("l", "1"))
		b.mend()
		b.must(p)
		b.has("k", "1")
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		if err := b.store.Reopen(b.Context()); !errors.Is(err, kv.ErrClosed) {
			b.Errorf("a closed store: got %v", err)
		}
	}},
	{"a broken store can be closed and opened", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		b.crack(set("l", "1"))
		if err := b.store.Close(); !errors.Is(err, kv.ErrStoreBroken) {
			b.Errorf("close: got %v", err)
		}
		b.store = b.config.Open(b.TB, b.dir)
		b.has("k", "1")
		b.must(b.store.Commit(set("m", "1")))
	}},
	{"breaking in the midst of it", func(b *bundle) {
		const writers, each, breaks = 4, 30, 5
		var left atomic.Int32
		left.Store(writers)
		b.all(writers+1, func(i int) error {
			if i == writers {
				for n := 0; n < breaks && left.Load() > 0; n++ {
					b.config.Break(b.TB, b.store)
					// The writers may have stopped before the break.
					_ = b.store.Commit(set("crack", "1")).Wait(b.Context())
					if err := b.store.Reopen(b.Context()); err != nil {
						return err
					}
				}
				return nil
			}
			defer left.Add(-1)
			for n := 0; n < each; {
				switch err := b.store.Commit(set(fmt.Sprintf("%d/%d", i, n), "1")).Wait(b.Context()); {
				case err == nil:
					n++
				case !errors.Is(err, kv.ErrStoreBroken):
					return err
				}
			}
			return nil
		})
		b.mend()
		for i := range writers {
			for n := range each {
				b.has(fmt.Sprintf("%d/%d", i, n), "1")
			}
		}
	}},
}

// prefix expects that of batches that set the keys space/n/a and space/n/b the
// first ones are there whole, at least so many, and no others.
func (b *bundle) prefix(space string, least, most int) {
	b.Helper()
	b.view(func(v kv.View) error {
		got, err := list(v, kv.Range{Prefix: []byte(space + "/"), KeysOnly: true})
		if len(got)%2 != 0 || len(got) < 2*least || len(got) > 2*most {
			b.Errorf("%d of %d keys are there, want at least %d: %q", len(got), 2*most, 2*least, got)
		}
		for i, key := range got {
			if want := fmt.Sprintf("%s/%d/%c", space, i/2, 'a'+i%2); key != want {
				b.Errorf("key %d is %s, want %s", i, key, want)
			}
		}
		return err
	})
}

// head reads the head of the chain.
func (b *bundle) head() (head kv.Head) {
	b.Helper()
	b.view(func(v kv.View) (err error) {
		head, err = kv.ReadHead(v, prefix)
		return err
	})
	return head
}

var reopenLeaseRules = []rule{
	{"leases outlast reopening", func(b *bundle) {
		l := b.lease(b.store, "n", "anna", long)
		b.crack(set("k", "1"))
		if _, err := b.store.Lease(b.Context(), []byte("m"), "anna", long); !errors.Is(err, kv.ErrStoreBroken) {
			b.Errorf("lease of a broken store: got %v", err)
		}
		b.mend()
		b.refused(b.store, "n", "anna")
		b.renew(l, long)
	}},
}
