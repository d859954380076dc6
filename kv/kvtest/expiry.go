package kvtest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// fleeting returns a time that passFleeting lets pass. Keys expire to the
// second.
func (b *bundle) fleeting() time.Time {
	if b.config.Pass == nil {
		return time.Now().Add(time.Second)
	}
	return time.Now().Add(long)
}

func (b *bundle) passFleeting() {
	b.Helper()
	if b.config.Pass == nil {
		b.pass(2100 * time.Millisecond)
		return
	}
	b.pass(2 * long)
}

// until returns a batch that sets a key until a time.
func until(key, value string, expires time.Time) *kv.Batch {
	b := &kv.Batch{}
	b.SetUntil([]byte(key), []byte(value), expires)
	return b
}

var expiryRules = []rule{
	{"a key is there until it expires", func(b *bundle) {
		b.must(b.store.Commit(until("k", "1", time.Now().Add(10*long))))
		for range 2 {
			b.has("k", "1")
			b.ranges("all", kv.Range{Prefix: []byte("k")}, []string{"k=1"})
			batch := set("other", "1")
			batch.Require([]byte("k"), []byte("1"))
			b.must(b.store.Commit(batch))
			batch = set("other", "2")
			batch.RequireAbsent([]byte("k"))
			b.fails(b.store.Commit(batch), kv.ErrRequirement)
			b.reopen()
		}
	}},
	{"an expired key is absent", func(b *bundle) {
		b.must(b.store.Commit(set("a", "1", "c", "1")))
		b.must(b.store.Commit(until("b", "1", b.fleeting())))
		b.passFleeting()
		for range 2 {
			b.has("b", "")
			b.ranges("all", kv.Range{}, []string{"a=1", "c=1"})
			b.ranges("backwards", kv.Range{Reverse: true}, []string{"c=1", "a=1"})
			b.ranges("keys", kv.Range{KeysOnly: true}, []string{"a", "c"})
			batch := set("c", "2")
			batch.Require([]byte("b"), []byte("1"))
			b.fails(b.store.Commit(batch), kv.ErrRequirement)
			b.reopen()
		}
		batch := set("b", "2")
		batch.RequireAbsent([]byte("b"))
		b.must(b.store.Commit(batch))
		b.has("b", "2")
	}},
	{"a key that is set again lives as long as was said last", func(b *bundle) {
		b.must(b.store.Commit(until("for ever", "1", b.fleeting())))
		b.must(b.store.Commit(set("for ever", "2", "not long", "1")))
		b.must(b.store.Commit(until("not long", "2", b.fleeting())))
		b.passFleeting()
		b.has("for ever", "2")
		b.has("not long", "")
	}},
	{"a time that has passed", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		b.must(b.store.Commit(until("k", "2", time.Now().Add(-long))))
		b.has("k", "")
	}},
	{"a view agrees with itself", func(b *bundle) {
		for i := range 5 {
			key := fmt.Sprint("k", i)
			b.must(b.store.Commit(until(key, "1", b.fleeting())))
			if i == 0 && b.config.Pass == nil {
				continue // without a clock of its own, once is enough
			}
			b.view(func(v kv.View) error {
				_, before := v.Get([]byte(key))
				b.passFleeting()
				_, after := v.Get([]byte(key))
				keys, err := list(v, kv.Range{KeysOnly: true})
				if errors.Is(before, kv.ErrNotFound) != errors.Is(after, kv.ErrNotFound) ||
					(before == nil) != slices.Contains(keys, key) {
					b.Errorf("a key was there: %v, then: %v; a scan shows %q", before, after, keys)
				}
				return err
			})
			if b.config.Pass == nil {
				return
			}
		}
	}},
}
