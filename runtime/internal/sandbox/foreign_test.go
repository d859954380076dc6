package sandbox_test

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// foreignVariable says, if it is set, that the compilers of other languages
// must be there. Without it tests that find none skip.
const foreignVariable = "PAWL_FOREIGN"

// compiler builds one source of testdata/foreign.
type compiler struct {
	name, source string
	// tool is the program's name, or what the variable says.
	tool, variable string
	args           func(source, out string) []string
}

var (
	rust = compiler{"Rust", "step.rs", "/usr/bin/rustc", "PAWL_RUSTC", func(source, out string) []string {
		return []string{"--target=wasm32-wasi", "--crate-type=cdylib", "-O", "-o", out, source}
	}}
	c = compiler{"C", "step.c", "clang", "PAWL_CLANG", func(source, out string) []string {
		return []string{"--target=wasm32-wasi", "-O2", "-mexec-model=reactor", "-o", out, source}
	}}
	cCommand = compiler{"C command", "command.c", "clang", "PAWL_CLANG", func(source, out string) []string {
		return []string{"--target=wasm32-wasi", "-O2", "-o", out, source}
	}}
	assemblyScript = compiler{"AssemblyScript", "step.ts", "asc", "PAWL_ASC", func(source, out string) []string {
		return []string{source, "-o", out, "-O", "--runtime", "incremental", "--use", "abort="}
	}}
)

// build compiles, or skips the test by name.
func (c compiler) build(t *testing.T) []byte {
	t.Helper()
	tool := cmp.Or(os.Getenv(c.variable), c.tool)
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv(foreignVariable) != "" {
			t.Fatalf("%s: %v", c.name, err)
		}
		t.Skipf("no compiler for %s: %v (%s names one)", c.name, err, c.variable)
	}
	out := filepath.Join(t.TempDir(), "step.wasm")
	text, err := exec.Command(tool, c.args(filepath.Join("testdata", "foreign", c.source), out)...).CombinedOutput()
	if err != nil && os.Getenv(foreignVariable) == "" {
		t.Skipf("%s does not build for wasm32-wasi: %v\n%s", tool, err, text)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// Steps of other compilers come through the rewriting, are entered, call a tool
// and see its result, and do the same every time.
func TestStepsOfOtherCompilers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		compiler             compiler
		tool, request, input string
	}{
		{rust, "words.keep", `["fox","the","jumps","quick","dog","lazy","over","brown"]`, `"the quick brown fox jumps over the lazy dog"`},
		{c, "bytes.keep", `[2,3,1,1,1]`, `"cabada"`},
		{assemblyScript, "chars.keep", `[34,252,98,97,34]`, `"ab` + "ü" + `"`},
	} {
		t.Run(row.compiler.name, func(t *testing.T) {
			t.Parallel()
			m := load(t, open(t, &sandbox.Options{CacheDir: cacheDir}), row.compiler.build(t))
			for range 3 {
				b := newBench("any", row.input)
				exit, err := m.Enter(t.Context(), &b.Entry)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(b.requests, "\n"); got != row.tool+" {Type:json Key: Unknown:false} "+row.request {
					t.Errorf("requests %s", got)
				}
				if string(exit.Output) != row.request {
					t.Errorf("output %s", exit.Output)
				}
			}
		})
	}
}

// A program in C that knows nothing of workflows is a step: stdin, stdout and
// its exit status are all it needs.
func TestProgramInCIsAStep(t *testing.T) {
	t.Parallel()
	m := load(t, open(t, &sandbox.Options{CacheDir: cacheDir}), cCommand.build(t))
	b := newBench("any", `{"a":{"b":1}}`)
	exit, err := m.Enter(t.Context(), &b.Entry)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"bytes":13,"objects":2,"input":{"a":{"b":1}}}`; strings.TrimSpace(string(exit.Output)) != want {
		t.Errorf("output %s, want %s", exit.Output, want)
	}
	if got := strings.Join(b.lines, "\n"); got != "WARN read 13 bytes" {
		t.Errorf("log %q", got)
	}
	exit, err = m.Enter(t.Context(), &newBench("any", `{}`).Entry)
	var trap *sandbox.Trap
	switch {
	case errors.As(err, &trap):
		if trap.Code != sandbox.TrapExit || !strings.Contains(trap.Message, "3") || !strings.Contains(trap.Message, "nothing to do") {
			t.Errorf("trap %+v", trap)
		}
	case err != nil:
		t.Fatal(err)
	case exit.Failure == nil || exit.Failure.Code != sandbox.TrapExit || !strings.Contains(exit.Failure.Message, "nothing to do"):
		t.Errorf("exit %+v", exit)
	}
}
