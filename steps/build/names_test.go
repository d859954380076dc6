package build_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/steps/build"
)

// A failure names the functions that it came through, and finds them there.
// Seen red with -ldflags=-s added to the build.
func TestModulesKeepTheirNames(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "s.wasm")
	if _, err := build.Module(t.Context(), &build.Options{Dir: project(t, good), Out: out}); err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	names, ok, err := build.Section(wasm, "name")
	if err != nil || !ok || !bytes.Contains(names, []byte("main.step")) {
		t.Errorf("the module names no function main.step: section %v, %v", ok, err)
	}
}
