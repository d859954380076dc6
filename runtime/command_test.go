package runtime_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// A WASI command is a step of whatever name the workflow gives it: its input
// comes on stdin, its output goes on stdout, and a status is a failure that has
// the last lines of stderr.
//
// Seen red with a command that is deployed with tools.
func TestCommandIsAStep(t *testing.T) {
	long(t)
	t.Parallel()
	out := filepath.Join(t.TempDir(), "command.wasm")
	compile := exec.CommandContext(t.Context(), "go", "build", "-o", out, "./internal/sandbox/testdata/command")
	compile.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	workflow := func(step string) fstest.MapFS {
		return fstest.MapFS{"command.wasm": {Data: wasm}, "workflow.toml": {Data: []byte(
			"pawl = 1\n[workflow]\nname = \"commands\"\nversion = \"1\"\ninput = {}\n[[step]]\nname = \"reckon\"\nmodule = \"command.wasm\"\n" + step)}}
	}
	b := setup(t)
	if _, err := b.engine.Deploy(t.Context(), workflow("tools = [\"read\"]")); err == nil || !strings.Contains(err.Error(), "WASI command, which cannot call") {
		t.Errorf("with tools: %v", err)
	}
	w := b.deploy(workflow(""))
	c := b.rest(b.start(w, "good", `{"do":"double","number":21}`))
	var output struct{ Twice int }
	if err := json.Unmarshal(c.Output(), &output); err != nil || output.Twice != 42 || c.Budgets.Work.Used == 0 {
		t.Errorf("state %s: %s, %+v, %v", c.State, c.Output(), c.Budgets.Work, err)
	}
	b.rest(b.start(w, "bad", `{"do":"exit","number":3}`))
	c = b.document("bad")
	if c.State != pawl.StateFailed || c.LastError.Code != "exit" || !strings.Contains(c.LastError.Message, "status 3") ||
		!strings.HasSuffix(c.LastError.Message, "no such order") {
		t.Errorf("state %s: %+v", c.State, c.LastError)
	}
}

// What the compiler must not be given is refused before it is compiled.
func TestDeployRefusesAModuleThatIsTooLarge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := folder(t, "", "")
	f["script.wasm"] = &fstest.MapFile{Data: make([]byte, 32<<20+1)}
	copy(f["script.wasm"].Data, "\x00asm\x01\x00\x00\x00")
	if _, err := b.engine.Deploy(t.Context(), f); err == nil || !strings.Contains(err.Error(), "module script.wasm: ") || !strings.Contains(err.Error(), "bytes and the limit is 33554432") {
		t.Errorf("%v", err)
	}
}
