package kvtest

import (
	"bytes"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// is expects the store to be in a condition, with a reason if it is not well.
func (b *bundle) is(want kv.Condition) {
	b.Helper()
	h := b.store.Health()
	if h.Condition != want || (h.Reason == "") != (want == kv.Healthy) {
		b.Errorf("condition %q because of %q, want %q", h.Condition, h.Reason, want)
	}
}

var healthRules = []rule{
	{"a store that nothing happened to is well", func(b *bundle) {
		b.is(kv.Healthy)
		if h := b.store.Health(); h.Commits != 0 || h.Syncs != 0 {
			b.Errorf("got %d commits and %d syncs", h.Commits, h.Syncs)
		}
	}},
	{"durable batches are counted", func(b *bundle) {
		for i := range 5 {
			b.store.Commit(set(fmt.Sprint("k", i), "x"))
		}
		failed := set("k", "1")
		failed.Require([]byte("no such key"), []byte("x"))
		b.fails(b.store.Commit(failed), kv.ErrRequirement)
		b.must(b.store.Commit(set("last", "x")))
		h := b.store.Health()
		if h.Commits != 6 || h.Syncs < 1 || h.Syncs > 6 {
			b.Errorf("got %d commits and %d syncs", h.Commits, h.Syncs)
		}
		b.reopen()
		if h := b.store.Health(); h.Commits != 0 || h.Syncs != 0 {
			b.Errorf("after opening again: %d commits and %d syncs", h.Commits, h.Syncs)
		}
	}},
}

// stalling is a store on which something happens behind the first batch.
type stalling struct {
	kv.Store
	first func(kv.Pending)
}

func (s *stalling) Commit(b *kv.Batch) kv.Pending {
	p := s.Store.Commit(b)
	if first := s.first; first != nil {
		s.first = nil
		first(p)
	}
	return p
}

// Seen red: the two rules of payloads and blobs without the requirement of the
// chunk before.
var spaceRules = []rule{
	{"without space nothing is written", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		b.config.Fill(b.TB, b.store, true)
		b.fails(b.store.Commit(set("k", "2")), kv.ErrNoSpace)
		b.is(kv.Full)
		b.has("k", "1")
		b.fails(b.store.Commit(set("k", "3")), kv.ErrNoSpace)
		b.config.Fill(b.TB, b.store, false)
		b.must(b.store.Commit(set("l", "1")))
		b.is(kv.Healthy)
		b.has("k", "1")
		b.reopen()
		b.has("k", "1")
		b.has("l", "1")
	}},
	{"an entry without space takes its successors along", func(b *bundle) {
		c := b.begin(2)
		head := c.Head()
		b.config.Fill(b.TB, b.store, true)
		b.fails(c.Append([]byte("lost"), nil), kv.ErrNoSpace)
		b.config.Fill(b.TB, b.store, false)
		b.fails(c.Append([]byte("lost too"), nil), kv.ErrRequirement)
		b.reads(2, head)
	}},
	{"a payload without space takes the entry behind it along", func(b *bundle) {
		c := b.begin(2)
		head := c.Head()
		b.config.Fill(b.TB, b.store, true)
		if _, err := c.Put(bytes.Repeat([]byte("x"), kv.ChunkSize+1)); err != nil {
			b.Fatal(err)
		}
		b.fails(b.store.Commit(set("k", "1")), kv.ErrNoSpace)
		b.config.Fill(b.TB, b.store, false)
		b.fails(c.Append([]byte("refers to the payload"), nil), kv.ErrNoSpace)
		b.reads(2, head)
	}},
	{"a blob is durable only with all of its parts", func(b *bundle) {
		b.config.Fill(b.TB, b.store, true)
		payload := bytes.Repeat([]byte("x"), kv.ChunkSize+1)
		parts := &stalling{Store: b.store, first: func(p kv.Pending) {
			b.fails(p, kv.ErrNoSpace)
			b.config.Fill(b.TB, b.store, false)
		}}
		_, p, err := kv.PutBlob(parts, prefix, payload)
		if err != nil {
			b.Fatal(err)
		}
		b.fails(p, kv.ErrNoSpace)
	}},
}

var heldRules = []rule{
	{"a held store can be used and stays held", func(b *bundle) {
		b.must(b.store.Commit(set("k", "1")))
		b.is(kv.Healthy)
		if err := b.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.config.Hold(b.TB, b.dir)
		b.store = b.config.Open(b.TB, b.dir)
		for range 3 {
			b.is(kv.Held)
			b.has("k", "1")
			b.must(b.store.Commit(set("l", "1")))
			b.has("l", "1")
			b.reopen()
		}
		b.is(kv.Held)
	}},
}
