package runtime_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The number of synced commits of a run is a contract: the intents that are
// waited for, plus the start, plus the output, plus one for each receipt of a
// charged or once call. The shape is the refund's: claim | get, hold |
// complete, note | pay, mail.
//
// Seen red with a wait for every receipt (15 and 14), with a barrier that does
// not wait, and with receipts of charged calls that linger (never durable).
func TestSyncedCommitsOfARun(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		charged bool
		want    uint64
	}{
		{"model and payment are charged", true, 10},
		{"nothing is charged", false, 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := syncedCommits(t, row.charged); got != row.want {
				t.Errorf("%d synced commits, want %d", got, row.want)
			}
		})
	}
}

func syncedCommits(t *testing.T, charged bool) uint64 {
	var tools []host.Tool
	free := func(name string, class host.Class) { tools = append(tools, quickTool(name, class, nil)) }
	costly := func(name string, class host.Class) {
		var units []string
		if charged {
			units = []string{"tokens"}
		}
		tools = append(tools, quickTool(name, class, units))
	}
	free("keyed", host.Keyed)
	free("read", host.Read)
	free("asked", host.Verify)
	costly("charged", host.Read)
	costly("flaky", host.Keyed)
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	store, err := kv.Open(t.TempDir(), &kv.Options{Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	opts := &pawl.Options{Tools: registry, CacheDir: cacheDir()}
	if charged {
		opts.Observer = newChargedReceipts().observe
	}
	engine, err := pawl.Open(t.Context(), store, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	b := &bundle{t: t, engine: engine}
	w := b.deploy(folder(t, "",
		`tools = ["keyed"]`, `tools = ["read", "asked"]`, `tools = ["charged", "keyed"]`, `tools = ["flaky", "asked"]`))
	before := probe(t, store)
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}],"two":[{"call":"read"},{"call":"asked"}],
		"three":[{"call":"charged"},{"call":"keyed"}],"four":[{"call":"flaky"},{"call":"asked"}]}`)
	if c := b.rest(r); c.State != pawl.StateCompleted {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	return probe(t, store) - before - 1
}

// probe makes a synced commit and returns its number.
func probe(t *testing.T, store kv.Store) uint64 {
	t.Helper()
	batch := new(kv.Batch)
	batch.Set([]byte("probe"), fmt.Append(nil, time.Now()))
	p := store.Commit(batch)
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.Number()
}

// chargedReceipts holds every call back until the receipt of a charged call
// before it is durable: otherwise a quick guest's next intent may catch the
// same commit, and the number would depend on the scheduler.
type chargedReceipts struct {
	mu   sync.Mutex
	cond sync.Cond
	open int
}

func newChargedReceipts() *chargedReceipts {
	c := new(chargedReceipts)
	c.cond.L = &c.mu
	return c
}

func (c *chargedReceipts) observe(e pawl.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	charged := e.Tool == "charged" || e.Tool == "flaky"
	switch {
	case e.Kind == pawl.BeforeIntent:
		for c.open > 0 {
			c.cond.Wait()
		}
	case e.Kind == pawl.Answered && charged:
		c.open++
	case e.Kind == pawl.ReceiptDurable && charged:
		c.open--
		c.cond.Broadcast()
	}
}

func quickTool(name string, class host.Class, units []string) host.Tool {
	opts := &host.FuncOptions{
		Contract: host.Contract{Effect: class, Units: units},
		Units:    func(any) map[string]int64 { return map[string]int64{"tokens": 3} },
	}
	if class == host.Verify {
		opts.Verify = func(context.Context, *host.Call) (any, bool, error) { return nil, false, nil }
	}
	return host.Func(name, func(context.Context, *host.Call, map[string]any) (map[string]any, error) {
		return map[string]any{"ok": true}, nil
	}, opts)
}
