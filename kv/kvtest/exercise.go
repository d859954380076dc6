package kvtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// Exercise runs the suite on the store that c opens. The subtests run in
// parallel, each in a directory of its own.
func Exercise(t *testing.T, c Config) {
	t.Helper()
	c.check(t)
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			if why := c.lacking(g.needs); why != "" {
				t.Skipf("the store lacks %s", why)
			}
			for _, r := range g.rules {
				t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					r.check(setup(t, &c))
				})
			}
		})
	}
}

// group is the rules about one thing, and what they need.
type group struct {
	name  string
	rules []rule
	needs []Ability
}

func groups() []group {
	return []group{
		{"batch", batchRules, nil},
		{"barrier", barrierRules, nil},
		{"view", viewRules, nil},
		{"scan", scanRules, nil},
		{"life", lifeRules, nil},
		{"chain", chainRules, nil},
		{"blob", blobRules, nil},
		{"concurrency", concurrencyRules, nil},
		{"lease", leaseRules, []Ability{Leasing}},
		{"watch", watchRules, []Ability{Watching}},
		{"health", healthRules, []Ability{Reporting}},
		{"expiry", expiryRules, []Ability{Expiring}},
		{"reopen", reopenRules, []Ability{Breaking, Reporting}},
		{"reopen-lease", reopenLeaseRules, []Ability{Breaking, Leasing}},
		{"reopen-watch", reopenWatchRules, []Ability{Breaking, Watching}},
		{"cut", cutRules, []Ability{Cutting}},
		{"space", spaceRules, []Ability{Filling, Reporting}},
		{"held", heldRules, []Ability{Holding, Reporting}},
		{"shared", sharedRules, []Ability{Sharing, Leasing, Watching}},
		{"model", modelRules, nil},
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
	testing.TB
	config *Config
	store  kv.Store
	dir    string
}

func setup(t testing.TB, c *Config) *bundle {
	t.Helper()
	b := &bundle{TB: t, config: c, dir: t.TempDir()}
	b.store = c.Open(t, b.dir)
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil && !errors.Is(err, kv.ErrClosed) && !errors.Is(err, kv.ErrStoreBroken) {
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
	b.store = b.config.Open(b.TB, b.dir)
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
