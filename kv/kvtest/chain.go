package kvtest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

var prefix = []byte("run/1/")

// begin returns a chain with n entries, durable.
func (b *bundle) begin(n int) *kv.Chain {
	b.Helper()
	c := kv.NewChain(b.store, prefix)
	for i := range n {
		b.must(c.Append(fmt.Appendf(nil, "entry %d", i+1), nil))
	}
	return c
}

// reads expects the chain to have n entries and the head.
func (b *bundle) reads(n int, head kv.Head) {
	b.Helper()
	b.view(func(v kv.View) error {
		b.Helper()
		entries, got, err := kv.ReadChain(v, prefix)
		if err != nil {
			return err
		}
		if got != head || len(entries) != n || got.Seq != uint64(n) {
			b.Errorf("got %d entries and head %v, want %d and %v", len(entries), got, n, head)
		}
		for i, entry := range entries {
			if want := fmt.Sprintf("entry %d", i+1); entry.Seq != uint64(i+1) || string(entry.Value) != want {
				b.Errorf("entry %d: got number %d with %q", i+1, entry.Seq, entry.Value)
			}
		}
		return nil
	})
}

// broken expects reading the chain to fail and to name the key.
func (b *bundle) broken(key []byte) {
	b.Helper()
	b.view(func(v kv.View) error {
		b.Helper()
		entries, _, err := kv.ReadChain(v, prefix)
		b.corrupt(err, key)
		if entries != nil {
			b.Errorf("got %d entries with the error", len(entries))
		}
		return nil
	})
}

func (b *bundle) corrupt(err error, key []byte) {
	b.Helper()
	var bad *kv.CorruptError
	if !errors.Is(err, kv.ErrCorrupt) || !errors.As(err, &bad) || !bytes.Equal(bad.Key, key) {
		b.Errorf("got %v, want a CorruptError at %q", err, key)
	}
}

// keys returns the keys of the chain of one kind, in order.
func (b *bundle) keys(kind string) [][]byte {
	b.Helper()
	var keys [][]byte
	b.view(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{Prefix: append(bytes.Clone(prefix), kind...)}) {
			if err != nil {
				return err
			}
			keys = append(keys, item.Key)
		}
		return nil
	})
	return keys
}

// flip changes one bit of what is under key.
func (b *bundle) flip(key []byte) {
	b.Helper()
	var value []byte
	b.view(func(v kv.View) (err error) {
		value, err = v.Get(key)
		return err
	})
	value[len(value)/2] ^= 1
	b.must(b.store.Commit(set(string(key), string(value))))
}

func (b *bundle) remove(key []byte) {
	b.Helper()
	batch := &kv.Batch{}
	batch.Delete(key)
	b.must(b.store.Commit(batch))
}

var chainRules = []rule{
	{"a chain that does not exist", func(b *bundle) {
		b.view(func(v kv.View) error {
			if _, err := kv.ReadHead(v, prefix); !errors.Is(err, kv.ErrNotFound) {
				b.Errorf("head: got %v", err)
			}
			if _, _, err := kv.ReadChain(v, prefix); !errors.Is(err, kv.ErrNotFound) {
				b.Errorf("chain: got %v", err)
			}
			return nil
		})
	}},
	{"a chain is read as it was written", func(b *bundle) {
		c := b.begin(300)
		b.reads(300, c.Head())
		b.reopen()
		b.reads(300, c.Head())
		again := kv.OpenChain(b.store, prefix, c.Head())
		b.must(again.Append([]byte("entry 301"), nil))
		b.reads(301, again.Head())
	}},
	{"an entry and what goes with it land together", func(b *bundle) {
		c := b.begin(1)
		with := set("index", "1")
		with.RequireAbsent([]byte("index"))
		b.must(c.Append([]byte("entry 2"), with))
		b.has("index", "1")
		head := c.Head()
		again := set("index", "2")
		again.RequireAbsent([]byte("index"))
		b.fails(c.Append([]byte("lost"), again), kv.ErrRequirement)
		b.has("index", "1")
		b.reads(2, head)
	}},
	{"a loser takes its successors along", func(b *bundle) {
		c := b.begin(2)
		head := c.Head()
		lost := set("side", "x")
		lost.Require([]byte("no such key"), []byte("x"))
		first := c.Append([]byte("lost"), lost)
		body, err := c.Put(bytes.Repeat([]byte("x"), kv.InlineLimit+1))
		if err != nil {
			b.Fatal(err)
		}
		second := c.Append([]byte("lost too"), nil)
		third := c.Append([]byte("lost as well"), set("side", "x"))
		for _, p := range []kv.Pending{third, first, second} {
			b.fails(p, kv.ErrRequirement)
		}
		b.reads(2, head)
		b.has("side", "")
		if keys := b.keys("b"); len(keys) > 0 {
			b.Errorf("chunks of body %v landed", body)
		}
		next := kv.OpenChain(b.store, prefix, head)
		b.must(next.Append([]byte("entry 3"), nil))
		b.reads(3, next.Head())
	}},
	{"an entry over the limit takes its successors along", func(b *bundle) {
		c := b.begin(2)
		head := c.Head()
		b.fails(c.Append(make([]byte, 64<<20), nil), kv.ErrBatchTooLarge)
		b.fails(c.Append([]byte("lost"), nil), kv.ErrRequirement)
		b.reads(2, head)
	}},
	{"of two owners one wins", func(b *bundle) {
		c := b.begin(1)
		other := kv.OpenChain(b.store, prefix, c.Head())
		b.must(c.Append([]byte("entry 2"), nil))
		b.fails(other.Append([]byte("late"), nil), kv.ErrRequirement)
		b.fails(kv.NewChain(b.store, prefix).Append([]byte("late"), nil), kv.ErrRequirement)
		b.reads(2, c.Head())
	}},
	{"an owner that has lost does not go on behind an entry of its successor that reads like its own", func(b *bundle) {
		c := b.begin(1)
		late := kv.OpenChain(b.store, prefix, c.Head())
		taken := kv.TakeChain(b.store, prefix, c.Head())
		b.must(taken.Append([]byte("entry 2"), nil))
		b.fails(late.Append([]byte("entry 2"), nil), kv.ErrRequirement)
		b.fails(late.Append([]byte("late"), nil), kv.ErrRequirement)
		b.reads(2, taken.Head())
		if was, is := c.Head().Epoch, taken.Head().Epoch; is != was+1 {
			b.Errorf("epoch %d after %d", is, was)
		}
		b.must(taken.Append([]byte("entry 3"), nil))
		if was, is := c.Head().Epoch, taken.Head().Epoch; is != was+1 {
			b.Errorf("epoch %d behind the first entry, after %d", is, was)
		}
	}},
	{"a flipped bit of an entry is noticed", func(b *bundle) {
		b.begin(5)
		b.flip(b.keys("e")[2])
		b.broken(b.keys("h")[0])
	}},
	{"a missing entry is noticed", func(b *bundle) {
		b.begin(5)
		keys := b.keys("e")
		b.remove(keys[2])
		b.broken(keys[2])
	}},
	{"a missing last entry is noticed", func(b *bundle) {
		b.begin(5)
		keys := b.keys("e")
		b.remove(keys[4])
		b.broken(keys[4])
	}},
	{"all entries missing is noticed", func(b *bundle) {
		b.begin(2)
		keys := b.keys("e")
		b.remove(keys[0])
		b.remove(keys[1])
		b.broken(keys[0])
	}},
	{"an entry behind the head is noticed", func(b *bundle) {
		b.begin(5)
		key := b.keys("e")[4]
		key[len(key)-1]++
		b.must(b.store.Commit(set(string(key), "extra")))
		b.broken(key)
	}},
	{"an entry before the first is noticed", func(b *bundle) {
		b.begin(5)
		key := b.keys("e")[0]
		key[len(key)-1] = 0
		b.must(b.store.Commit(set(string(key), "extra")))
		b.broken(key)
	}},
	{"a key that is no entry is noticed", func(b *bundle) {
		b.begin(5)
		key := append(b.keys("e")[1], 'x')
		b.must(b.store.Commit(set(string(key), "extra")))
		b.broken(key)
	}},
	{"a missing head is noticed", func(b *bundle) {
		b.begin(5)
		key := b.keys("h")[0]
		b.remove(key)
		b.broken(key)
	}},
	{"a head that makes no sense is noticed", func(b *bundle) {
		b.begin(5)
		key := b.keys("h")[0]
		for _, value := range []string{"", "\x01", "\x02" + string(make([]byte, 48)), "\x01" + string(make([]byte, 48))} {
			b.must(b.store.Commit(set(string(key), value)))
			b.broken(key)
		}
	}},
	{"two entries that changed places are noticed", func(b *bundle) {
		b.begin(5)
		keys := b.keys("e")
		b.must(b.store.Commit(set(string(keys[1]), "entry 3", string(keys[2]), "entry 2")))
		b.broken(b.keys("h")[0])
	}},
}
