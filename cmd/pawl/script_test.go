package main

import (
	"context"
	"encoding/json"
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
	if text := os.Getenv("PAWL_TEST_ARGUMENTS"); text != "" { // pawl under another user's id
		var args []string
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			panic(err)
		}
		os.Exit(run(context.Background(), args, nil, os.Stdout, os.Stderr))
	}
	status := m.Run()
	http.DefaultClient.CloseIdleConnections() // of the scripts' own commands
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	f := &fixture{t: t, dir: t.TempDir()}
	f.build()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, f.env...)
			e.Setenv("PATH", filepath.Join(f.dir, "bin")+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds:          commands(),
		UpdateScripts: *update,
	})
}

// fixture is what the scripts share. They use the program as it is built for
// people: the race detector would make compiling modules in every one of their
// processes many times as slow.
type fixture struct {
	t   *testing.T
	dir string
	env []string
}

// build makes the program, the services and the example's steps.
func (f *fixture) build() {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		f.t.Fatal(err)
	}
	f.env = []string{
		"ROOT=" + root, "PAWL_CACHE=" + filepath.Join(f.dir, "cache"), "BUILT=" + filepath.Join(f.dir, "refund"),
		"SERVICES_PROGRAM=" + filepath.Join(f.dir, "bin", "services"), "PAWL_PROGRAM=" + filepath.Join(f.dir, "bin", "pawl"),
	}
	// The scripts have a home of their own; go keeps its caches.
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY"} {
		f.env = append(f.env, name+"="+strings.TrimSpace(f.run(root, "go", "env", name)))
	}
	f.run(root, "go", "build", "-o", filepath.Join(f.dir, "bin")+string(filepath.Separator), "./cmd/pawl", "./examples/refund/services")
	f.copyExample(filepath.Join(root, "examples", "refund"), filepath.Join(f.dir, "refund"))
	if err := os.WriteFile(filepath.Join(f.dir, "refund", "go.mod"), goMod(root), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.run(f.dir, filepath.Join(f.dir, "bin", "pawl"), "build", "refund")
}

// copyExample copies the example without what the tests put into its folder
// while they run.
func (f *fixture) copyExample(from, to string) {
	names, err := filepath.Glob(filepath.Join(from, "*"))
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		f.t.Fatal(err)
	}
	for _, name := range names {
		base := filepath.Base(name)
		switch {
		case base == "schema" || base == "tickets":
			err = os.CopyFS(filepath.Join(to, base), os.DirFS(name))
		case strings.HasSuffix(base, ".toml") || strings.HasSuffix(base, ".go") && !strings.HasSuffix(base, "_test.go"):
			err = copyFile(name, filepath.Join(to, base))
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// goMod is a module that uses the one at root.
func goMod(root string) []byte {
	return []byte("module example.com/steps\n\ngo 1.26.0\n\nrequire github.com/pawl-dev/pawl v0.0.0\n\n" +
		"replace github.com/pawl-dev/pawl => " + root + "\n")
}

// run runs a program and returns what it printed.
func (f *fixture) run(dir, name string, args ...string) string {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), f.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
