package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// script is a module whose steps do what their input says, built once.
var script = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "pawl-telemetry")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "script.wasm")
	if _, err := build.Module(context.Background(), &build.Options{Dir: "../runtime/testdata/script", Out: out}); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

// folder is a workflow of two steps of the script. Tools stand under other
// names than the operator's, so that the two cannot be mixed up.
func folder() (fstest.MapFS, error) {
	wasm, err := script()
	if err != nil {
		return nil, err
	}
	var s strings.Builder
	fmt.Fprint(&s, "pawl = 1\n[workflow]\nname = \"test\"\nversion = \"1\"\ninput = { type = \"object\" }\n")
	for _, name := range []string{"one", "two"} {
		fmt.Fprintf(&s, "[[step]]\nname = %q\nmodule = \"script.wasm\"\nwith = { do = \"input.%s\" }\nretry = { attempts = 2, backoff = \"1ms\" }\n", name, name)
		fmt.Fprint(&s, "tools = [\"keyed\", \"flaky\", \"kv.get\", \"kv.put\"]\n[step.tool.\"keyed\"]\nuse = \"books\"\n[step.tool.\"flaky\"]\nuse = \"shaky\"\n")
	}
	return fstest.MapFS{"workflow.toml": {Data: []byte(s.String())}, "script.wasm": {Data: wasm}}, nil
}

// receiver counts what reaches its tools, and what it said.
type receiver struct {
	mu   sync.Mutex
	sent map[string]int // by tool
	said map[string]int // by tool and outcome
}

func (r *receiver) tool(name string, class host.Class, answer func(n int) (any, error)) host.Tool {
	return host.Func(name, func(_ context.Context, _ *host.Call, _ map[string]any) (any, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.sent == nil {
			r.sent, r.said = map[string]int{}, map[string]int{}
		}
		r.sent[name]++
		out, err := answer(r.sent[name])
		outcome := "applied"
		if err != nil {
			outcome = strings.Fields(err.Error())[0]
		}
		r.said[name+" "+outcome]++
		return out, err
	}, &host.FuncOptions{Contract: host.Contract{Effect: class, Tries: 2, Backoff: time.Millisecond}})
}

// tools are books, which always works, and shaky, whose answers come by turns:
// not applied, applied, rejected.
func (r *receiver) tools() (*host.Registry, error) {
	return host.NewRegistry(
		r.tool("books", host.Keyed, func(int) (any, error) { return "entered", nil }),
		r.tool("shaky", host.Keyed, func(n int) (any, error) {
			switch n % 3 {
			case 1:
				return nil, host.NotApplied(fmt.Errorf("not_applied this time"))
			case 2:
				return "done", nil
			}
			return nil, host.Rejected(fmt.Errorf("rejected for good"))
		}),
	)
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

// openEngine opens an engine on the directory.
func openEngine(t testing.TB, dir string, opts pawl.Options) *pawl.Engine {
	t.Helper()
	store, err := kv.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	opts.CacheDir = cacheDir()
	engine, err := pawl.Open(t.Context(), store, &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

func deploy(t testing.TB, engine *pawl.Engine) *pawl.Workflow {
	t.Helper()
	files, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	w, err := engine.Deploy(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// rest starts a run and waits until it rests.
func rest(t testing.TB, w *pawl.Workflow, id, input string) *pawl.Checkpoint {
	t.Helper()
	r, err := pawl.Start(t.Context(), w, id, json.RawMessage(input), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := r.Wait(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
