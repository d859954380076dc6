package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

// childVariable holds, in a process that the test began, the store, the folder,
// the run's id, and the boundary at which it kills itself.
const childVariable = "COUNTER_TEST_CHILD"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		if err := child(strings.Split(text, "|")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child runs the workflow and kills its own process at the n-th boundary. It
// prints the output of a run that it completes.
func child(args []string) (err error) {
	dir, folder, id, n := args[0], args[1], args[2], args[3]
	kill, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	store, err := kv.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	ctx := context.Background()
	opts := &pawl.Options{CacheDir: filepath.Join(dir, "cache"), NoRecovery: true}
	opts.Observer = func(pawl.Event) {
		if kill--; kill == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens
		}
	}
	engine, err := pawl.Open(ctx, store, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Check(), engine.Close()) }()
	w, err := engine.Deploy(ctx, os.DirFS(folder))
	if err != nil {
		return err
	}
	run, err := pawl.Start(ctx, w, id, Input{Add: 1}, nil)
	if err != nil {
		return err
	}
	out, err := pawl.Await[json.RawMessage](ctx, run)
	fmt.Println(string(out))
	return err
}

// A run is killed at each of its boundaries, and the next process goes on with
// it: it has counted once, whatever happened.
func TestKilledAnywhereEachRunCountsOnce(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	for _, name := range []string{"workflow.toml", "schema.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := build.Module(t.Context(), &build.Options{Out: filepath.Join(folder, "counter.wasm")}); err != nil {
		t.Fatal(err)
	}
	process := func(run, kill int) (out string, killed bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|run-%d|%d", childVariable, dir, folder, run, kill))
		text, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL && ctx.Err() == nil {
			return "", true
		}
		if err != nil {
			t.Fatalf("run %d, to be killed at boundary %d: %v\n%s", run, kill, err, exit.Stderr)
		}
		return strings.TrimSpace(string(text)), false
	}
	for n := 1; ; n++ {
		out, killed := process(n, n)
		if killed {
			var again bool
			if out, again = process(n, 0); again {
				t.Fatal("killed without having been told to")
			}
		}
		if want := fmt.Sprintf(`{"count":%d}`, n); out != want {
			t.Fatalf("killed at boundary %d: %s, want %s", n, out, want)
		}
		if !killed { // there are no more boundaries
			if n <= 10 {
				t.Errorf("only %d boundaries", n-1)
			}
			return
		}
	}
}
