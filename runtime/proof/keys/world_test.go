package keys_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/pawl-dev/pawl/runtime/proof"
)

// first is what becomes of the first request that arrives; all others are
// applied.
type first string

const (
	isApplied  first = "applied"
	isRejected first = "rejected"
	isTurned   first = "not applied"
	losesIt    first = "lost on the way"      // nobody knows, and nothing happened
	losesReply first = "its answer is lost"   // nobody knows, and it happened
	isPanicked first = "the tool breaks down" // the same, by the tool
)

// books are the receiver's, which outlive all processes. A receiver that is
// promised to be keyed remembers keys for a day; the others do what they are
// asked as often as they are asked.
type books struct {
	class host.Class
	first first

	mu       sync.Mutex // guards what follows
	requests int
	effects  []host.Key
	known    map[host.Key]time.Time
}

var errLost = errors.New("lost")

func (b *books) take(key host.Key) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests++
	act := isApplied
	if b.requests == 1 {
		act = b.first
	}
	switch act {
	case isRejected:
		return "", host.Rejected(errors.New("no"))
	case isTurned:
		return "", host.NotApplied(errors.New("not now"))
	case losesIt:
		return "", errLost
	}
	if at, ok := b.known[key]; !ok || b.class != host.Keyed || time.Since(at) > 24*time.Hour {
		b.effects = append(b.effects, key)
		b.known[key] = time.Now()
	}
	switch act {
	case losesReply:
		return "", errLost
	case isPanicked:
		panic("broken")
	}
	return "paid", nil
}

func (b *books) tool(verifies bool) host.Tool {
	opts := &host.FuncOptions{Contract: host.Contract{Effect: b.class, Tries: 2, Settle: time.Second}}
	if b.first == isTurned {
		opts.Contract.Tries = 1
	}
	if verifies {
		opts.Verify = func(_ context.Context, c *host.Call) (any, bool, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, key := range b.effects {
				if key == c.Key {
					return "paid", true, nil
				}
			}
			return nil, false, nil
		}
	}
	return host.Func("pay", func(_ context.Context, c *host.Call, _ any) (string, error) { return b.take(c.Key) }, opts)
}

// folder is a workflow of one step that pays under the one key and ends
// whatever it is told.
func folder() fstest.MapFS {
	frame, err := abi.AppendFrame(nil, abi.CallHead{Type: abi.TypeJSON, Key: "refund:T1"}, []byte(`{"amount":20}`))
	if err != nil {
		panic(err)
	}
	const tool = "pay"
	guest := wasmtest.Guest(wasmtest.HostCall(wasmtest.ToolAt, uint32(len(tool)), wasmtest.FrameAt, uint32(len(frame))) + wasmtest.Done)
	guest.Data = wasmtest.Place(map[int]string{
		wasmtest.FrameAt: string(frame), wasmtest.ToolAt: tool, wasmtest.OutputAt: wasmtest.OutputText,
	})
	return fstest.MapFS{
		"pay.wasm": {Data: guest.Bytes()},
		"workflow.toml": {Data: []byte(`pawl = 1
[workflow]
name = "pays"
version = "1"
input = { type = "object" }
[[step]]
name = "pay"
module = "pay.wasm"
tools = ["pay"]
`)},
	}
}

// world is one disk through several processes.
type world struct {
	t     *testing.T
	disk  *kvtest.Disk
	tools *host.Registry
}

// process is an engine over the disk until the power is cut or it ends in good
// order.
type process struct {
	*pawl.Engine
	workflow *pawl.Workflow
	store    kv.Store
}

// life is one process. The power is cut at the n-th boundary of the runs, if n is
// more than 0. It reports whether that came, and at what.
func (w *world) life(n int, do func(p *process)) (came pawl.EventKind) {
	w.t.Helper()
	store, err := w.disk.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex // guards seen and came
	seen := 0
	observe := func(e pawl.Event) {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			w.disk.Cut()
			came = e.Kind
		}
	}
	e, err := pawl.Open(w.t.Context(), store, &pawl.Options{Tools: w.tools, CacheDir: proof.CacheDir(), NoRecovery: true, Observer: observe})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { // also when do ends the test: a bubble waits for all
		err := errors.Join(e.Check(), e.Close(), store.Close())
		mu.Lock()
		defer mu.Unlock()
		if err != nil && came == "" {
			w.t.Errorf("a life without a cut: %v", err)
		}
	}()
	workflow, err := e.Deploy(w.t.Context(), folder())
	if err != nil {
		w.t.Fatal(err)
	}
	do(&process{e, workflow, store})
	mu.Lock()
	defer mu.Unlock()
	return came
}

// begin starts a run, or finds it. It returns nil where the power was cut.
func (p *process) begin(t *testing.T, id string) *pawl.Run {
	r, err := pawl.Start(t.Context(), p.workflow, id, map[string]any{}, nil)
	if err != nil {
		return nil
	}
	return r
}

// goOn has a run go on, wherever it was left.
func (p *process) goOn(t *testing.T, id string) *pawl.Run {
	t.Helper()
	r := p.begin(t, id)
	if r == nil {
		return nil
	}
	err := r.Resume()
	if err != nil && !errors.Is(err, pawl.ErrAlreadyRunning) && !errors.Is(err, kv.ErrStoreBroken) {
		t.Errorf("%s cannot be resumed: %v", id, err)
	}
	return r
}

func (b *books) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("%d requests, effects %v", b.requests, b.effects)
}
