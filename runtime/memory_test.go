package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The memory of a process that has the refund deployed from the compilation
// cache and 10,000 ended runs of it in its store: under 128 MiB after a
// collection. It makes the runs first, which takes minutes; ask for it with
//
//	PAWL_MEMORY=10000 go test -run TestMemoryWithManyEndedRuns -timeout 30m ./runtime
func TestMemoryWithManyEndedRuns(t *testing.T) {
	if dir := os.Getenv("PAWL_MEMORY_STORE"); dir != "" {
		measure(t, dir)
		return
	}
	var runs int
	if _, err := fmt.Sscan(os.Getenv("PAWL_MEMORY"), &runs); err != nil {
		t.Skip("a long measurement; set PAWL_MEMORY to the number of runs")
	}
	dir := filepath.Join(t.TempDir(), "store")
	makeRuns(t, dir, runs)
	t.Log("after making them:", rss(t))
	cmd := again(t, "^TestMemoryWithManyEndedRuns$", "PAWL_MEMORY_STORE="+dir)
	text, err := cmd.CombinedOutput()
	t.Logf("%s", text)
	if err != nil {
		t.Error(err)
	}
}

// makeRuns ends n runs of the refund, with receivers in this process: what they
// leave behind is what real ones leave.
func makeRuns(t *testing.T, dir string, n int) {
	store, engine, w := openRefund(t, dir)
	defer closeBoth(t, store, engine)
	ticket, err := os.ReadFile(example + "/tickets/t3.json")
	if err != nil {
		t.Fatal(err)
	}
	var before []*pawl.Run
	for i := range n {
		r, err := pawl.Start(t.Context(), w, fmt.Sprintf("refund-%06d", i), json.RawMessage(ticket), nil)
		if err != nil {
			t.Fatal(err)
		}
		if before = append(before, r); len(before) == 32 || i == n-1 {
			for _, r := range before {
				if c, err := r.Wait(t.Context(), 0); err != nil || c.State != pawl.StateCompleted {
					t.Fatalf("%v, %+v", err, c)
				}
			}
			before = before[:0]
		}
	}
}

func measure(t *testing.T, dir string) {
	store, engine, w := openRefund(t, dir)
	defer closeBoth(t, store, engine)
	ticket, err := os.ReadFile(example + "/tickets/t3.json")
	if err != nil {
		t.Fatal(err)
	}
	r, err := pawl.Start(t.Context(), w, "one-more", json.RawMessage(ticket), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := r.Wait(t.Context(), 0); err != nil || c.State != pawl.StateCompleted {
		t.Fatalf("%v, %+v", err, c)
	}
	debug.FreeOSMemory()
	kb := rss(t)
	t.Logf("RSS %d kB with %s", kb["VmRSS"], strings.TrimSpace(fmt.Sprint(kb)))
	if kb["VmRSS"] > 128<<10 {
		t.Errorf("more than 128 MiB")
	}
	goruntime.KeepAlive(w)
}

func openRefund(t *testing.T, dir string) (kv.Store, *pawl.Engine, *pawl.Workflow) {
	t.Helper()
	registry, err := host.NewRegistry(
		answering("tickets.claim", host.Keyed, `{"state":"claimed"}`), answering("tickets.note", host.Keyed, `{}`),
		answering("orders.get", host.Read, `{"id":"W1003","currency":"EUR","customer":{"name":"Ana","email":"ana@example.org"},"items":[{"sku":"glass-tall","title":"Glass, tall","price_cent":1290},{"sku":"glass-tall","title":"Glass, tall","price_cent":1290}]}`),
		answering("orders.hold", host.Verify, `{"hold":"h_1"}`), answering("llm.complete", host.Read, `{"text":"We are sorry that both glasses arrived broken.","tokens":212}`),
		answering("pay.refund", host.Keyed, `{"id":"rf_1","amount_cent":1290}`), answering("mail.send", host.Verify, `{"id":"m_1"}`))
	if err != nil {
		t.Fatal(err)
	}
	module, err := refundModule()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for from, to := range map[string]string{
		example + "/workflow.toml": "workflow.toml", example + "/schema/ticket.json": "schema/ticket.json", module: "refund.wasm",
	} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, to)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, to), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := kv.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{Tools: registry, CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := engine.Deploy(t.Context(), os.DirFS(folder))
	if err != nil {
		t.Fatal(err)
	}
	return store, engine, w
}

// rss reads the memory of this process in kB.
func rss(t testing.TB) map[string]int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("no /proc/self/status here")
	}
	kb := map[string]int{}
	for line := range bytes.Lines(text) {
		var name string
		var n int
		if _, err := fmt.Sscanf(string(line), "%s %d kB", &name, &n); err == nil && (name == "VmRSS:" || strings.HasPrefix(name, "Rss")) {
			kb[strings.TrimSuffix(name, ":")] = n
		}
	}
	return kb
}

// answering is a tool in this process that always says the same.
func answering(name string, class host.Class, text string) host.Tool {
	opts := &host.FuncOptions{Contract: host.Contract{Effect: class}}
	if class == host.Verify {
		opts.Verify = func(context.Context, *host.Call) (any, bool, error) { return nil, false, nil }
	}
	return host.Func(name, func(context.Context, *host.Call, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(text), nil
	}, opts)
}

// again is this test process once more, with one test.
func again(t *testing.T, run string, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run", run, "-test.v")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func closeBoth(t *testing.T, store kv.Store, engine *pawl.Engine) {
	t.Helper()
	if err := errors.Join(engine.Close(), store.Close()); err != nil {
		t.Error(err)
	}
}
