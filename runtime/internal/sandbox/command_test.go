package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// commandFile builds the program of testdata/command once.
var commandFile = sync.OnceValues(func() ([]byte, error) {
	out := filepath.Join(filepath.Dir(guestFile), "command.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/command")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, text)
	}
	return os.ReadFile(out)
})

func command(t *testing.T) *sandbox.Module {
	t.Helper()
	wasm, err := commandFile()
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, open(t, &sandbox.Options{CacheDir: cacheDir}), wasm)
	if !m.Command() {
		t.Fatal("it is not taken for a command")
	}
	return m
}

// Seen red with the output taken as it was written, with a status of 0 taken
// for a failure, and with stdout as a log.
func TestCommandReadsItsInputAndWritesItsOutput(t *testing.T) {
	long(t)
	t.Parallel()
	m := command(t)
	for input, want := range map[string]string{
		`{"do":"double","number":21}`: "{\n  \"twice\": 42\n}",
		`{"do":"leave"}`:              "null",
	} {
		b := newBench("any_name", input)
		exit, err := m.Enter(t.Context(), &b.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if string(exit.Output) != want || exit.Failure != nil {
			t.Errorf("%s: output %q, failure %+v", input, exit.Output, exit.Failure)
		}
		if len(b.lines) != 1 || !strings.HasPrefix(b.lines[0], "WARN doing ") {
			t.Errorf("logged %q", b.lines)
		}
	}
	if d, err := m.Describe(t.Context()); d != nil || err != nil {
		t.Errorf("it describes itself as %+v, %v", d, err)
	}
}

// Seen red with an output that is not checked, and with the status ignored.
func TestCommandFailures(t *testing.T) {
	t.Parallel()
	m := command(t)
	for input, want := range map[string]struct{ code, text string }{
		`{"do":"exit","number":3}`: {sandbox.TrapExit, "status 3 within a step\ndoing exit\nno such order"},
		`{"do":"panic"}`:           {sandbox.TrapPanic, "panic: the order has no owner"},
		`{"do":"text"}`:            {sandbox.TrapBadOutput, "stdout is not JSON\ndoing text"},
		`{"do":"silence"}`:         {sandbox.TrapNoOutput, "wrote nothing on stdout"},
		`{"do":"flood"}`:           {sandbox.TrapTooLarge, fmt.Sprintf("more than %d bytes", sandbox.MaxPayload)},
	} {
		_, err := m.Enter(t.Context(), &newBench("s", input).Entry)
		if trap := new(sandbox.Trap); !errors.As(err, &trap) || trap.Code != want.code || !strings.Contains(trap.Message, want.text) {
			t.Errorf("%s: %v; want %s: %s", input, err, want.code, want.text)
		}
	}
}

// Seen red with the system's clock.
func TestCommandSeesNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	m := command(t)
	run := func() string {
		exit, err := m.Enter(t.Context(), &newBench("s", `{"do":"entropy"}`).Entry)
		if err != nil {
			t.Fatal(err)
		}
		return string(exit.Output)
	}
	first := run()
	if !strings.HasSuffix(first, `,[],[]]`) || !strings.HasPrefix(first, `["2026-11-29T03:10:58.42`) {
		t.Errorf("it sees %s", first)
	}
	if diff := cmp.Diff(first, run()); diff != "" {
		t.Error(diff)
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench("s", `{"do":"spin"}`)
	b.Log = func(slog.Level, string) { cancel(errStopped) }
	if _, err := command(t).Enter(ctx, &b.Entry); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}

// A command of a few instructions: it writes its data on stdout and returns.
func TestSmallestCommand(t *testing.T) {
	t.Parallel()
	const piece = "\x00\x01\x00\x00\x05\x00\x00\x00" // five bytes at 256
	write := wasmtest.Const(1) + wasmtest.Const(0) + wasmtest.Const(1) + wasmtest.Const(32) + wasmtest.CallTo(0) + wasmtest.OpDrop
	p := wasmtest.Program{
		Imports:   []wasmtest.Function{{Module: "wasi_snapshot_preview1", Export: "fd_write", Shape: wasmtest.ShapePoll}},
		Functions: []wasmtest.Function{{Export: "_start", Shape: wasmtest.ShapeNone, Code: write}},
		Memory:    "\x01\x00\x01",
		Data:      wasmtest.Place(map[int]string{0: piece, 256: " 42\n\n"}),
	}
	exit, err := load(t, open(t, nil), p.Bytes()).Enter(t.Context(), &newBench("s", `null`).Entry)
	if err != nil || string(exit.Output) != "42" {
		t.Errorf("%+v, %v", exit, err)
	}
	p.Functions = append(p.Functions, wasmtest.Function{Export: abi.ExportStep, Shape: wasmtest.ShapeStep, Code: wasmtest.Const(0)})
	if load(t, open(t, nil), p.Bytes()).Command() {
		t.Error("a step module that exports _start too is taken for a command")
	}
}
