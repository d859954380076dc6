package kvtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// Exercise runs the suite. Open opens the store kept in dir, an empty or absent
// directory at first; the suite closes what it opened before it opens dir
// again. The subtests run in parallel, each in a directory of its own.
func Exercise(t *testing.T, open func(t *testing.T, dir string) kv.Store) {
	for _, group := range []struct {
		name  string
		rules []rule
	}{
		{"batch", batchRules},
		{"barrier", barrierRules},
		{"view", viewRules},
		{"scan", scanRules},
		{"life", lifeRules},
		{"chain", chainRules},
		{"blob", blobRules},
		{"concurrency", concurrencyRules},
		{"model", modelRules},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, r := range group.rules {
				t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					r.check(setup(t, open))
				})
			}
		})
	}
}

// rule is one sentence of the contract with its check. For each rule about
// requirements, the barrier, chains and blobs some rule of its group was seen
// red on the store on Badger: requirements ignored or checked at the snapshot,
// no value taken for an empty one, the limit unchecked, batches reversed, the
// queue dropped at Close, views at the newest version, each comparison of
// ReadChain and ReadBlob left out, the head not required.
type rule struct {
	name  string
	check func(*bundle)
}

// bundle is what a rule is checked with.
type bundle struct {
	*testing.T
	store kv.Store
	dir   string
	open  func(t *testing.T, dir string) kv.Store
}

func setup(t *testing.T, open func(t *testing.T, dir string) kv.Store) *bundle {
	t.Helper()
	b := &bundle{T: t, dir: t.TempDir(), open: open}
	b.store = open(t, b.dir)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil && !errors.Is(err, kv.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// reopen closes the store and opens it again.
func (b *bundle) reopen() {
	b.Helper()
	if err := b.store.Close(); err != nil {
		b.Fatalf("close: %v", err)
	}
	b.store = b.open(b.T, b.dir)
}

// must waits for the batch and expects it to be durable.
func (b *bundle) must(p kv.Pending) {
	b.Helper()
	if err := p.Wait(b.Context()); err != nil {
		b.Fatalf("wait: %v", err)
	}
}

// fails waits for the batch and expects the error.
func (b *bundle) fails(p kv.Pending, want error) {
	b.Helper()
	if err := p.Wait(b.Context()); !errors.Is(err, want) {
		b.Fatalf("wait: got %v, want %v", err, want)
	}
	select {
	case <-p.Done():
	default:
		b.Fatal("Wait returned before Done was closed")
	}
	if err := p.Err(); !errors.Is(err, want) {
		b.Fatalf("Err: got %v, want %v", err, want)
	}
}

// view runs f in a view and expects no error.
func (b *bundle) view(f func(v kv.View) error) {
	b.Helper()
	if err := b.store.View(f); err != nil {
		b.Fatalf("view: %v", err)
	}
}

// has expects the value of a key; "" stands for an absent key.
func (b *bundle) has(key, want string) {
	b.Helper()
	b.view(func(v kv.View) error {
		b.Helper()
		value, err := v.Get([]byte(key))
		switch {
		case errors.Is(err, kv.ErrNotFound) && want == "":
		case err != nil:
			return err
		case string(value) != want:
			b.Errorf("key %q: got %q, want %q", key, value, want)
		}
		return nil
	})
}

// list returns "key=value" of a range; of an item without a value "key".
func list(v kv.View, r kv.Range) ([]string, error) {
	var out []string
	for item, err := range v.Scan(r) {
		if err != nil {
			return nil, err
		}
		line := string(item.Key)
		if item.Value != nil {
			line += "=" + string(item.Value)
		}
		out = append(out, line)
	}
	return out, nil
}

// set returns a batch that sets keys to values, given in turns.
func set(pairs ...string) *kv.Batch {
	b := &kv.Batch{}
	for i := 0; i+1 < len(pairs); i += 2 {
		b.Set([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	return b
}
