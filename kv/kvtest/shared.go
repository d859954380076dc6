package kvtest

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

// second opens the store of the rule once more.
func (b *bundle) second() kv.Store {
	b.Helper()
	if b.store.Exclusive() {
		b.Fatal("the store is exclusive: say so in Config.Lacks")
	}
	s := b.config.Open(b.TB, b.dir)
	b.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, kv.ErrClosed) {
			b.Errorf("close: %v", err)
		}
	})
	return s
}

// on is the bundle with another store.
func (b *bundle) on(s kv.Store) *bundle {
	other := *b
	other.store = s
	return &other
}

var sharedRules = []rule{
	{"each sees what the other made durable", func(b *bundle) {
		other := b.on(b.second())
		for i := range 20 {
			b.must(b.store.Commit(set("k", fmt.Sprint(i))))
			other.has("k", fmt.Sprint(i))
			other.must(other.store.Commit(set("l", fmt.Sprint(i))))
			b.has("l", fmt.Sprint(i))
		}
	}},
	{"a requirement sees the other's batches", func(b *bundle) {
		other := b.on(b.second())
		b.must(b.store.Commit(set("n", "1")))
		for i := 1; i <= 20; i++ {
			take := func() *kv.Batch {
				batch := set("n", fmt.Sprint(i+1))
				batch.Require([]byte("n"), fmt.Append(nil, i))
				return batch
			}
			mine, theirs := b.store.Commit(take()), other.store.Commit(take())
			b.must(mine)
			other.fails(theirs, kv.ErrRequirement)
		}
	}},
	{"of rivals in two stores exactly one gets each number", func(b *bundle) {
		stores := []*bundle{b, b.on(b.second())}
		const goal = 100
		b.must(b.store.Commit(set("n", "0")))
		wins := make([]int, 6)
		b.all(len(wins), func(i int) error {
			own := stores[i%2]
			for {
				n, err := own.number("n")
				if err != nil || n >= goal {
					return err
				}
				batch := set("n", fmt.Sprint(n+1))
				batch.Require([]byte("n"), fmt.Append(nil, n))
				switch err := own.store.Commit(batch).Wait(b.Context()); {
				case err == nil:
					wins[i]++
				case !errors.Is(err, kv.ErrRequirement):
					return err
				}
			}
		})
		total := 0
		for _, n := range wins {
			total += n
		}
		if total != goal {
			b.Errorf("%d batches won, want %d", total, goal)
		}
	}},
	{"a lease holds in both", func(b *bundle) {
		other := b.on(b.second())
		l := b.lease(b.store, "n", "anna", long)
		other.refused(other.store, "n", "anna")
		b.release(l)
		other.lease(other.store, "n", "ben", long)
		b.lost(l)
		b.refused(b.store, "n", "ben")
	}},
	{"an owner that stalls loses its lease and is fenced", func(b *bundle) {
		other := b.on(b.second())
		stalled := b.lease(b.store, "run/1", "anna", b.soon())
		c := b.begin(2)
		late := c.Append([]byte("late"), nil) // queued, and then anna stalls
		b.pass(2 * b.soon())

		other.lease(other.store, "run/1", "ben", long)
		next := kv.OpenChain(other.store, prefix, other.head())
		other.must(next.Append([]byte("entry 3"), nil))

		b.fails(late, kv.ErrRequirement)
		b.fails(c.Append([]byte("later"), nil), kv.ErrRequirement)
		b.lost(stalled)
		b.reads(3, next.Head())
	}},
	{"a watcher hears of the other's changes", func(b *bundle) {
		other := b.on(b.second())
		changed := b.watch(b.store, "p/")
		other.must(other.store.Commit(set("p/1", "1")))
		b.hears(changed)
		b.has("p/1", "1")
	}},
	{"closing one leaves the other", func(b *bundle) {
		other := b.on(b.second())
		other.must(other.store.Commit(set("k", "1")))
		if err := other.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.must(b.store.Commit(set("l", "1")))
		b.has("k", "1")
	}},
}
