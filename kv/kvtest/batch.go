package kvtest

import (
	"bytes"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

var batchRules = []rule{
	{"later batches win", func(b *bundle) {
		for i := range 50 {
			b.store.Commit(set("k", fmt.Sprint(i)))
		}
		b.must(b.store.Commit(set("other", "x")))
		b.has("k", "49")
	}},
	{"later changes of a batch win", func(b *bundle) {
		batch := set("k", "1", "k", "2", "gone", "x")
		batch.Delete([]byte("gone"))
		batch.Delete([]byte("back"))
		batch.Set([]byte("back"), []byte("y"))
		b.must(b.store.Commit(batch))
		b.has("k", "2")
		b.has("gone", "")
		b.has("back", "y")
	}},
	{"deleting", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		batch := &kv.Batch{}
		batch.Delete([]byte("k"))
		batch.Delete([]byte("never there"))
		b.must(b.store.Commit(batch))
		b.has("k", "")
	}},
	{"every key is a key", func(b *bundle) {
		keys := []string{"", "\x00", "\xff", "\xff\xff", "!badger!txn", "a\x00b", string(bytes.Repeat([]byte("k"), 1000))}
		batch := &kv.Batch{}
		for _, key := range keys {
			batch.Set([]byte(key), []byte("of "+key))
		}
		b.must(b.store.Commit(batch))
		for _, key := range keys {
			b.has(key, "of "+key)
		}
	}},
	{"an empty value is a value", func(b *bundle) {
		batch := &kv.Batch{}
		batch.Set([]byte("empty"), nil)
		b.must(b.store.Commit(batch))
		b.view(func(v kv.View) error {
			value, err := v.Get([]byte("empty"))
			if err == nil && (value == nil || len(value) != 0) {
				b.Errorf("got %#v, want an empty slice that is not nil", value)
			}
			return err
		})
		batch = set("k", "1")
		batch.RequireAbsent([]byte("empty"))
		b.fails(b.store.Commit(batch), kv.ErrRequirement)
		batch = set("k", "1")
		batch.Require([]byte("empty"), nil)
		b.must(b.store.Commit(batch))
	}},
	{"a batch that fails changes nothing", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "b", "1")))
		batch := set("a", "2", "b", "2", "c", "2")
		batch.Require([]byte("a"), []byte("1"))
		batch.Require([]byte("b"), []byte("other"))
		b.fails(b.store.Commit(batch), kv.ErrRequirement)
		b.has("a", "1")
		b.has("b", "1")
		b.has("c", "")
		b.must(b.store.Commit(set("c", "3")))
	}},
	{"requirements", func(b *bundle) {
		b.must(b.store.Commit(set("there", "v")))
		for _, row := range []struct {
			name  string
			need  func(*kv.Batch)
			holds bool
		}{
			{"value", func(x *kv.Batch) { x.Require([]byte("there"), []byte("v")) }, true},
			{"other value", func(x *kv.Batch) { x.Require([]byte("there"), []byte("w")) }, false},
			{"longer value", func(x *kv.Batch) { x.Require([]byte("there"), []byte("vv")) }, false},
			{"no value", func(x *kv.Batch) { x.Require([]byte("there"), nil) }, false},
			{"value of an absent key", func(x *kv.Batch) { x.Require([]byte("absent"), []byte("v")) }, false},
			{"no value of an absent key", func(x *kv.Batch) { x.Require([]byte("absent"), nil) }, false},
			{"absence", func(x *kv.Batch) { x.RequireAbsent([]byte("absent")) }, true},
			{"absence of a key that is there", func(x *kv.Batch) { x.RequireAbsent([]byte("there")) }, false},
		} {
			batch := set("result "+row.name, "applied")
			row.need(batch)
			if p := b.store.Commit(batch); row.holds {
				b.must(p)
				b.has("result "+row.name, "applied")
			} else {
				b.fails(p, kv.ErrRequirement)
				b.has("result "+row.name, "")
			}
		}
	}},
	// Nobody waits for the earlier batches, so they are merged with the last.
	{"requirements see earlier batches", func(b *bundle) {
		b.store.Commit(set("n", "1"))
		sees := set("n", "2")
		sees.Require([]byte("n"), []byte("1"))
		seen := b.store.Commit(sees)
		stale := set("n", "wrong", "side", "wrong")
		stale.Require([]byte("n"), []byte("1"))
		missed := b.store.Commit(stale)
		remove := &kv.Batch{}
		remove.Delete([]byte("n"))
		b.store.Commit(remove)
		absent := set("n", "3")
		absent.RequireAbsent([]byte("n"))
		b.must(b.store.Commit(absent))
		b.must(seen)
		b.fails(missed, kv.ErrRequirement)
		b.has("n", "3")
		b.has("side", "")
	}},
	{"a failed batch takes only itself along", func(b *bundle) {
		var good, bad []kv.Pending
		for i := range 20 {
			good = append(good, b.store.Commit(set(fmt.Sprintf("good %d", i), "x")))
			batch := set(fmt.Sprintf("bad %d", i), "x")
			batch.Require([]byte("no such key"), []byte("x"))
			bad = append(bad, b.store.Commit(batch))
		}
		for i := range good {
			b.must(good[i])
			b.fails(bad[i], kv.ErrRequirement)
			b.has(fmt.Sprintf("good %d", i), "x")
			b.has(fmt.Sprintf("bad %d", i), "")
		}
	}},
	{"a batch over the limit is refused", func(b *bundle) {
		batch := set("small", "x")
		for i := range 64 {
			batch.Set(fmt.Appendf(nil, "big %d", i), make([]byte, 1<<20))
		}
		b.fails(b.store.Commit(batch), kv.ErrBatchTooLarge)
		b.must(b.store.Commit(set("next", "x")))
		b.has("small", "")
		b.has("big 0", "")
		b.has("next", "x")
	}},
	{"many batches are more than one commit can hold", func(b *bundle) {
		var all []kv.Pending
		for i := range 64 {
			batch := &kv.Batch{}
			batch.Set(fmt.Appendf(nil, "k%02d", i), bytes.Repeat([]byte{byte(i)}, 100<<10))
			all = append(all, b.store.Commit(batch))
		}
		last := uint64(0)
		for i, p := range all {
			b.must(p)
			if p.Number() == 0 || p.Number() < last {
				b.Errorf("batch %d has commit number %d behind %d", i, p.Number(), last)
			}
			last = p.Number()
		}
		b.has("k63", string(bytes.Repeat([]byte{63}, 100<<10)))
	}},
}
