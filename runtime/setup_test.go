package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/steps/build"
)

func TestMain(m *testing.M) {
	if code, ok := childMain(); ok {
		os.Exit(code)
	}
	var err error
	if work, err = os.MkdirTemp("", "pawl-runtime-test-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if s, err := boxed(); err == nil {
			_ = s.Close(context.Background()) // its files are the cache's
		}
		_ = os.RemoveAll(work)
		os.Exit(code)
	}))
}

// work is where this test process builds; it is removed at the end.
var work string

// script is the module of testdata/script, built once per test process.
var script = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "pawl-script")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "script.wasm")
	if _, err := build.Module(context.Background(), &build.Options{Dir: "testdata/script", Out: out}); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

// boxed is what the engines of this test process have loaded; to load the module
// of testdata/script anew takes most of a second with the race detector.
var boxed = sync.OnceValues(func() (*sandbox.Sandbox, error) {
	return sandbox.New(&sandbox.Options{CacheDir: cacheDir()})
})

func box(t testing.TB) *sandbox.Sandbox {
	t.Helper()
	s, err := boxed()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bundle is one store and what runs on it; reopen makes a new engine over it,
// as a fresh process would.
type bundle struct {
	t      *testing.T
	dir    string
	tools  *host.Registry
	opts   pawl.Options
	store  kv.Store
	engine *pawl.Engine
	// wrap, if set, makes what the engine sees instead of the store.
	wrap func(kv.Store) kv.Store
	// damaged stores are not checked at the end.
	damaged bool
}

func setup(t *testing.T, tools ...host.Tool) *bundle {
	t.Helper()
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	b := &bundle{t: t, dir: t.TempDir(), tools: registry}
	b.opts.CacheDir = cacheDir()
	b.opts.Share(box(t))
	b.open()
	t.Cleanup(func() {
		if b.engine == nil {
			return // it did not open, and that was said
		}
		if err := b.engine.Check(); err != nil && !b.damaged {
			t.Errorf("the store is not sound: %v", err)
		}
		b.agree()
		b.close()
	})
	return b
}

// cacheDir is shared by all test processes of a user, so that a module is
// compiled once.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "pawl-test")
}

func (b *bundle) open() {
	b.t.Helper()
	b.engine = nil
	var err error
	if b.store, err = kv.Open(b.dir, nil); err != nil {
		b.t.Fatal(err)
	}
	if b.wrap != nil {
		b.store = b.wrap(b.store)
	}
	b.opts.Tools = b.tools
	if b.engine, err = pawl.Open(b.t.Context(), b.store, &b.opts); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) close() {
	b.t.Helper()
	if err := b.engine.Close(); err != nil {
		b.t.Error(err)
	}
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
}

// reopen ends the engine in good order and opens another, with other tools if
// any are given.
func (b *bundle) reopen(tools ...host.Tool) {
	b.t.Helper()
	b.close()
	if len(tools) > 0 {
		var err error
		if b.tools, err = host.NewRegistry(tools...); err != nil {
			b.t.Fatal(err)
		}
	}
	b.open()
}

// folder is a workflow of the script module with the steps given: each line
// of a step's text goes under its [[step]].
func folder(t testing.TB, head string, stepTables ...string) fstest.MapFS {
	t.Helper()
	wasm, err := script()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"one", "two", "three", "four"}
	var s strings.Builder
	fmt.Fprintf(&s, "pawl = 1\n[workflow]\nname = \"test\"\nversion = \"1\"\ninput = { type = \"object\" }\n%s\n", head)
	for i, table := range stepTables {
		fmt.Fprintf(&s, "[[step]]\nname = %q\nmodule = \"script.wasm\"\nwith = { do = \"input.%s\" }\n%s\n", names[i], names[i], table)
	}
	return fstest.MapFS{
		"workflow.toml": {Data: []byte(s.String())},
		"script.wasm":   {Data: wasm},
	}
}

func (b *bundle) deploy(f fstest.MapFS) *pawl.Workflow {
	b.t.Helper()
	w, err := b.engine.Deploy(b.t.Context(), f)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// start begins a run; input is JSON.
func (b *bundle) start(w *pawl.Workflow, id, input string) *pawl.Run {
	b.t.Helper()
	r, err := pawl.Start(b.t.Context(), w, id, json.RawMessage(input), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// rest waits until a run rests, timers included.
func (b *bundle) rest(r *pawl.Run) *pawl.Checkpoint {
	b.t.Helper()
	return b.wait(r, time.Hour)
}

func (b *bundle) wait(r *pawl.Run, longest time.Duration) *pawl.Checkpoint {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	c, err := r.Wait(ctx, longest)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func (b *bundle) lookup(ref string) *pawl.Run {
	b.t.Helper()
	r, err := b.engine.Lookup(ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bundle) find(ref string) *pawl.Run {
	b.t.Helper()
	r, err := b.engine.Find(ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// counter is a tool in this process that counts what reached it.
type counter struct {
	sent atomic.Int64
	keys sync.Map
}

// tool makes a tool that answers every request with what f says; nil answers
// {"n": how many requests there were}.
func (c *counter) tool(name string, contract host.Contract, f func(n int64, call *host.Call) (any, error)) host.Tool {
	return host.Func(name, func(_ context.Context, call *host.Call, _ map[string]any) (any, error) {
		n := c.sent.Add(1)
		c.keys.Store(call.Key.String(), true)
		if f == nil {
			return map[string]any{"n": n}, nil
		}
		return f(n, call)
	}, &host.FuncOptions{Contract: contract})
}

func (c *counter) distinctKeys() (n int) {
	c.keys.Range(func(any, any) bool { n++; return true })
	return n
}

// long leaves a test out of short runs: it cuts or kills at every one of many
// places, or loads large modules, and takes minutes beside the race detector.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}
