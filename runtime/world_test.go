package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
	"github.com/pawl-dev/pawl/steps/build"
)

const example = "../examples/refund"

// services is the refund example's receivers, built once per test process.
var services = sync.OnceValues(func() (string, error) {
	out := filepath.Join(work, "services")
	text, err := exec.Command("go", "build", "-o", out, example+"/services").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

// refundModule is the refund example's module, built once per test process.
var refundModule = sync.OnceValues(func() (string, error) {
	out := filepath.Join(work, "refund.wasm")
	_, err := build.Module(context.Background(), &build.Options{Dir: example, Out: out})
	return out, err
})

// world is one store, one workflow, and receivers in a process of their own
// that outlives every kill.
type world struct {
	t     testing.TB
	dir   string
	fakes *fakes.Process
	task  task // what every process of this world has in common
}

// newWorld makes a world. toolText is added to the example's tools; %ADDR% in
// it stands for the receivers' address.
func newWorld(t testing.TB, toolText string) *world {
	t.Helper()
	if _, test := t.(*testing.T); test { // else an example
		long(t)
	}
	program, err := services()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: t.TempDir()}
	if w.fakes, err = fakes.Start(t.Context(), program, filepath.Join(w.dir, "ledger")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.fakes.Close(); err != nil {
			t.Error(err)
		}
	})
	w.task = task{
		Store: filepath.Join(w.dir, "store"), Tools: filepath.Join(w.dir, "tools.toml"),
		Folder: filepath.Join(w.dir, "workflow"), ID: "r1", Longest: time.Hour,
	}
	w.tools(toolText)
	return w
}

func (w *world) tools(more string) {
	w.t.Helper()
	text := w.read(filepath.Join(example, "tools.toml"))
	text = strings.ReplaceAll(text, "127.0.0.1:7730", "%ADDR%") + more
	w.write("tools.toml", strings.ReplaceAll(text, "%ADDR%", w.fakes.Addr()))
}

// script makes the world's workflow one of the script module; a step's tools
// are given as the script's name = the operator's name.
func (w *world) script(head string, stepTables ...string) *world {
	w.t.Helper()
	files := folder(w.t, head, stepTables...)
	for name, f := range files {
		w.write(filepath.Join("workflow", name), string(f.Data))
	}
	return w
}

// uses is the part of a [[step]] that grants tools: pairs of the script's name
// and the operator's.
func uses(rest string, pairs ...string) string {
	var names, tables []string
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, fmt.Sprintf("%q", pairs[i]))
		tables = append(tables, fmt.Sprintf("[step.tool.%q]\nuse = %q\n", pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf("tools = [%s]\n%s\n%s", strings.Join(names, ", "), rest, strings.Join(tables, ""))
}

// refund makes the world's workflow the refund example, with the manifest
// changed by edit, if there is one.
func (w *world) refund(edit func(manifest string) string) *world {
	w.t.Helper()
	module, err := refundModule()
	if err != nil {
		w.t.Fatal(err)
	}
	manifest := w.read(filepath.Join(example, "workflow.toml"))
	if edit != nil {
		manifest = edit(manifest)
	}
	w.write("workflow/workflow.toml", manifest)
	w.write("workflow/refund.wasm", w.read(module))
	w.write("workflow/schema/ticket.json", w.read(filepath.Join(example, "schema/ticket.json")))
	return w
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) write(name, text string) {
	w.t.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) fault(tool, mode string, times int) {
	w.t.Helper()
	if err := w.fakes.Set(w.t.Context(), fakes.Fault{Tool: tool, Mode: mode, Times: times}); err != nil {
		w.t.Fatal(err)
	}
}

// start spawns a process that starts the run; edit may change its task.
func (w *world) start(input string, edit func(*task), env ...string) *process {
	w.t.Helper()
	k := w.task
	k.Op, k.Input = "start", json.RawMessage(input)
	if edit != nil {
		edit(&k)
	}
	return spawn(w.t, k, env...)
}

// op spawns a process that does something with the run.
func (w *world) op(op string, edit func(*task), env ...string) *process {
	w.t.Helper()
	k := w.task
	k.Op = op
	if edit != nil {
		edit(&k)
	}
	return spawn(w.t, k, env...)
}

// document reads the run's document in a fresh process.
func (w *world) document() *pawl.Checkpoint {
	w.t.Helper()
	out := w.op("show", nil).end()
	if out.Error != "" {
		w.t.Fatal(out.Error)
	}
	checkDocument(w.t, out.After)
	return out.After
}

// resume goes on with the run in a fresh process.
func (w *world) resume(env ...string) *pawl.Checkpoint {
	w.t.Helper()
	out := w.op("resume", nil, env...).end()
	if out.Error != "" {
		w.t.Fatal(out.Error)
	}
	return out.After
}

// ledger counts what the receivers saw of a tool.
func (w *world) ledger(tool string) (effects, requests int) {
	w.t.Helper()
	for _, l := range w.lines() {
		if l.Tool == tool && l.Kind == "effect" {
			effects++
		}
		if l.Tool == tool && l.Kind == "request" {
			requests++
		}
	}
	return effects, requests
}

func (w *world) lines() []fakes.Line {
	w.t.Helper()
	lines, err := w.fakes.Ledger(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// keys are the different keys that requests of the tool carried.
func (w *world) keys(tool string) map[string]int {
	keys := map[string]int{}
	for _, l := range w.lines() {
		if l.Tool == tool && l.Kind == "request" {
			keys[l.Key]++
		}
	}
	return keys
}

// completed fails the test unless the run has completed.
func completed(t testing.TB, c *pawl.Checkpoint) {
	t.Helper()
	if c.State != pawl.StateCompleted {
		t.Fatalf("state %s: %+v, last error %+v", c.State, c.Reasons, c.LastError)
	}
}
