package kvtest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/pawl-dev/pawl/kv"
)

var concurrencyRules = []rule{
	{"views see a prefix of the commit order", func(b *bundle) {
		const batches = 400
		all := make([]kv.Pending, 0, batches)
		b.beside(func() error {
			for i := range batches {
				batch := set(fmt.Sprintf("k%03d", i), "x", "last", fmt.Sprint(i))
				batch.Urgent = i%7 == 0
				all = append(all, b.store.Commit(batch))
			}
			return all[len(all)-1].Wait(b.Context())
		}, func(v kv.View) error {
			keys, err := list(v, kv.Range{Prefix: []byte("k"), KeysOnly: true})
			if err != nil {
				return err
			}
			last, err := v.Get([]byte("last"))
			if errors.Is(err, kv.ErrNotFound) {
				last, err = []byte("-1"), nil
			}
			if n, _ := strconv.Atoi(string(last)); err == nil && n != len(keys)-1 {
				return fmt.Errorf("%d keys are there, the last batch was %s", len(keys), last)
			}
			for i, key := range keys {
				if key != fmt.Sprintf("k%03d", i) {
					return fmt.Errorf("key %d is %s", i, key)
				}
			}
			return err
		})
	}},
	{"views see whole batches", func(b *bundle) {
		b.must(b.store.Commit(set("a", "0", "b", "0")))
		b.beside(func() error {
			for i := range 200 {
				value := fmt.Sprint(i)
				if err := b.store.Commit(set("a", value, "b", value)).Wait(b.Context()); err != nil {
					return err
				}
			}
			return nil
		}, func(v kv.View) error {
			first, err := v.Get([]byte("a"))
			if err != nil {
				return err
			}
			second, err := v.Get([]byte("b"))
			if err == nil && string(first) != string(second) {
				return fmt.Errorf("a is %s, b is %s", first, second)
			}
			return err
		})
	}},
	{"of many rivals exactly one gets each number", func(b *bundle) {
		const rivals, goal = 8, 200
		b.must(b.store.Commit(set("n", "0")))
		wins := make([]int, rivals)
		b.all(rivals, func(i int) error {
			for {
				n, err := b.number("n")
				if err != nil || n >= goal {
					return err
				}
				batch := set("n", fmt.Sprint(n+1))
				batch.Require([]byte("n"), []byte(fmt.Sprint(n)))
				switch err := b.store.Commit(batch).Wait(b.Context()); {
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
	{"many chains side by side", func(b *bundle) {
		b.all(16, func(i int) error {
			at := fmt.Appendf(nil, "run/%d/", i)
			c := kv.NewChain(b.store, at)
			for n := range 20 {
				body, err := c.Put(noise(kv.InlineLimit + n))
				if err != nil {
					return err
				}
				p := c.Append(fmt.Appendf(nil, "entry %d %x", n, body.Hash), nil)
				if n%3 == 0 {
					err = p.Wait(b.Context())
				}
				if err != nil {
					return err
				}
			}
			if err := c.Append([]byte("end"), nil).Wait(b.Context()); err != nil {
				return err
			}
			return b.store.View(func(v kv.View) error {
				_, head, err := kv.ReadChain(v, at)
				if err == nil && head != c.Head() {
					return fmt.Errorf("head %v, want %v", head, c.Head())
				}
				return err
			})
		})
	}},
	{"closing in the midst of it", func(b *bundle) {
		var durable sync.Map
		stop := make(chan struct{})
		var once sync.Once
		b.all(8, func(i int) error {
			if i == 0 {
				<-stop
				return b.store.Close()
			}
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d/%d", i, n)
				err := b.store.Commit(set(key, "x")).Wait(b.Context())
				if errors.Is(err, kv.ErrClosed) {
					return nil
				}
				if err != nil {
					return err
				}
				durable.Store(key, true)
				if n == 20 {
					once.Do(func() { close(stop) })
				}
				err = b.store.View(func(v kv.View) error { _, err := v.Get([]byte(key)); return err })
				if err != nil && !errors.Is(err, kv.ErrClosed) {
					return err
				}
			}
		})
		b.store = b.config.Open(b.TB, b.dir)
		durable.Range(func(key, _ any) bool { b.has(key.(string), "x"); return true })
	}},
}

// beside runs write, and meanwhile, and once more after it, check in views.
func (b *bundle) beside(write func() error, check func(kv.View) error) {
	b.Helper()
	done := make(chan error, 1)
	go func() { done <- write() }()
	for ended := false; !ended; {
		select {
		case err := <-done:
			if err != nil {
				b.Fatal(err)
			}
			ended = true
		default:
		}
		if err := b.store.View(check); err != nil {
			b.Fatal(err)
		}
	}
}

// all runs f for 0 to n-1 at once.
func (b *bundle) all(n int, f func(i int) error) {
	b.Helper()
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if err := f(i); err != nil {
				b.Errorf("%d: %v", i, err)
			}
		})
	}
	group.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func (b *bundle) number(key string) (n int, err error) {
	err = b.store.View(func(v kv.View) error {
		value, err := v.Get([]byte(key))
		if err == nil {
			n, err = strconv.Atoi(string(value))
		}
		return err
	})
	return n, err
}
