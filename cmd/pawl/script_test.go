package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the expected files in the scripts anew")

func TestMain(m *testing.M) {
	testscript.Main(&fixture{m: m}, map[string]func(){"pawl": main})
}

// fixture is what the scripts share: the services and the example's steps,
// built once per test process.
type fixture struct{ m *testing.M }

// Run implements [testscript.TestingM]. It is not called in the processes that
// the scripts start.
func (f *fixture) Run() int {
	dir, err := os.MkdirTemp("", "pawl-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	shared.dir = dir
	status := f.m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// shared says where the fixture keeps things.
var shared struct{ dir string }

// example is the folder of the refund example.
func example(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "examples", "refund"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// prepare makes the services and the steps.
func prepare(t *testing.T) (env []string) {
	t.Helper()
	env = []string{
		"PAWL_CACHE=" + filepath.Join(shared.dir, "cache"),
		"REFUND=" + example(t), "BUILT=" + filepath.Join(shared.dir, "built"),
		"SERVICES_PROGRAM=" + filepath.Join(shared.dir, "services"),
	}
	// The scripts have a home of their own; go keeps its caches.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	services := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(shared.dir, "services"), "./services")
	services.Dir = example(t)
	if out, err := services.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g := &Globals{stdout: os.Stdout, stderr: os.Stderr, JSON: true}
	t.Setenv("PAWL_CACHE", filepath.Join(shared.dir, "cache"))
	if _, err := buildModules(t.Context(), g, example(t), filepath.Join(shared.dir, "built")); err != nil {
		t.Fatal(err)
	}
	return env
}

func TestScripts(t *testing.T) {
	env := prepare(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, env...)
			return nil
		},
		Cmds:          commands(),
		UpdateScripts: *update,
	})
}
