package build_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/steps/build"
)

// project writes a steps module with a library beside it, joined by a relative
// replace, and returns the folder of the steps.
func project(t *testing.T, main string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"lib/go.mod":   "module example.test/lib\n\ngo 1.26\n",
		"lib/lib.go":   "package lib\n\nfunc Done() uint32 { return 0 }\n",
		"steps/go.mod": "module example.test/steps\n\ngo 1.26\n\nrequire example.test/lib v0.0.0\n\nreplace example.test/lib => ../lib\n",
		"steps/s.go":   main,
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "steps")
}

const good = `package main

import "example.test/lib"

//go:wasmexport pawl_step
func step(uint32) uint32 { return lib.Done() }

func main() {}
`

func describe(text string) func(context.Context, []byte) ([]byte, error) {
	return func(context.Context, []byte) ([]byte, error) { return []byte(text), nil }
}

func digestOf(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Seen red without -trimpath.
func TestEqualSourcesInTwoFoldersGiveEqualDigests(t *testing.T) {
	t.Parallel()
	var digests [2]string
	for i := range digests {
		dir := project(t, good)
		out := filepath.Join(dir, "deep", "steps.wasm")
		var err error
		digests[i], err = build.Module(t.Context(), &build.Options{Dir: dir, Out: out, Describe: describe(`{"abi":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got := digestOf(t, out); got != digests[i] {
			t.Errorf("the file has the digest %s, not %s", got, digests[i])
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("%s and %s", digests[0], digests[1])
	}
}

func TestUpToDateFileIsNotTouched(t *testing.T) {
	t.Parallel()
	dir := project(t, good)
	o := &build.Options{Dir: dir, Out: filepath.Join(dir, "steps.wasm"), Describe: describe(`{"abi":1}`)}
	first, err := build.Module(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	past := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(o.Out, past, past); err != nil {
		t.Fatal(err)
	}
	written := func() time.Time {
		info, err := os.Stat(o.Out)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	second, err := build.Module(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if first != second || !written().Equal(past) {
		t.Errorf("digests %s and %s, written %s", first, second, written())
	}
	o.Describe = describe(`{"abi":2}`)
	third, err := build.Module(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if third == first || written().Equal(past) {
		t.Errorf("another description gives the digests %s and %s, written %s", first, third, written())
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Errorf("left behind: %v", files)
	}
}

func TestCompileErrorIsShownAsTheCompilerPrintedIt(t *testing.T) {
	t.Parallel()
	dir := project(t, "package main\n\nfunc main() {\n\tundefinedHere()\n}\n")
	var printed bytes.Buffer
	_, err := build.Module(t.Context(), &build.Options{Dir: dir, Out: filepath.Join(dir, "steps.wasm"), Stderr: &printed})
	var failed *build.CompileError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	const line = "./s.go:4:2: undefined: undefinedHere"
	if !strings.Contains(err.Error(), line) || !strings.Contains(printed.String(), line) {
		t.Errorf("error %v\nprinted %s", err, printed.String())
	}
	if _, err := os.Stat(filepath.Join(dir, "steps.wasm")); err == nil {
		t.Error("a file was written")
	}
}

func TestBuildWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	dir := t.TempDir()
	if _, err := build.Module(t.Context(), &build.Options{Dir: dir, Out: filepath.Join(dir, "x.wasm")}); !errors.Is(err, build.ErrNoGo) {
		t.Error(err)
	}
}

func TestBuildEnds(t *testing.T) {
	t.Parallel()
	cause := errors.New("the user pressed a key")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	dir := project(t, good)
	if _, err := build.Module(ctx, &build.Options{Dir: dir, Out: filepath.Join(dir, "x.wasm")}); !errors.Is(err, cause) {
		t.Error(err)
	}
}

func TestDescribeErrorIsHandedOn(t *testing.T) {
	t.Parallel()
	dir := project(t, good)
	broken := errors.New("it traps")
	_, err := build.Module(t.Context(), &build.Options{
		Dir: dir, Out: filepath.Join(dir, "x.wasm"),
		Describe: func(context.Context, []byte) ([]byte, error) { return nil, broken },
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestMissingFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "nowhere")
	if _, err := build.Module(t.Context(), &build.Options{Dir: dir, Out: filepath.Join(t.TempDir(), "x.wasm")}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
