package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/steps/build"
)

// The counter calls the store alone, so its processes need no tools.
func TestMain(m *testing.M) {
	crashtest.Main(m, func(string) (*host.Registry, error) { return host.NewRegistry() })
}

// A run is killed at each of its boundaries, and the next process goes on with
// it: it has counted once, whatever happened.
//
// Seen red with outputs that are taken for different.
func TestKilledAnywhereEachRunCountsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	folder := t.TempDir()
	for _, name := range []string{"workflow.toml", "schema.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := build.Module(t.Context(), &build.Options{Out: filepath.Join(folder, "counter.wasm")}); err != nil {
		t.Fatal(err)
	}
	report := crashtest.Matrix(t, &crashtest.Config{Workflow: folder, Input: []byte(`{"add":1}`)})
	if out := string(report.Clean.Output); out != `{"count":1}` || len(report.Rows) < 5 {
		t.Errorf("output %s, %d boundaries", out, len(report.Rows))
	}
}
