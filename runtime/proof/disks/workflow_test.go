package disks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// A run has this many effects.
const (
	stepsOfRun   = 3
	callsOfStep  = 2
	effectsOfRun = stepsOfRun * callsOfStep
)

// folder is the workflow of all runs: each step calls the receiver, and fails at
// a call that was not applied.
func folder() fstest.MapFS {
	failed := wasmtest.Const64(32) + "\x88\x50\x45\x04\x40" + // if the status is not 0
		wasmtest.GoodFailure + wasmtest.Const(1) + "\x0f" + wasmtest.OpEnd
	call := strings.TrimSuffix(wasmtest.GoodCall, wasmtest.OpDrop) + failed
	module := wasmtest.Guest(strings.Repeat(call, callsOfStep) + wasmtest.Done).Bytes()
	var s strings.Builder
	fmt.Fprint(&s, "pawl = 1\n[workflow]\nname = \"work\"\nversion = \"1\"\ninput = { type = \"object\" }\n[budget]\nrecoveries = 1000000\n")
	for i := range stepsOfRun {
		fmt.Fprintf(&s, "[[step]]\nname = \"s%d\"\nmodule = \"s.wasm\"\ntools = [%q]\n", i, wasmtest.ToolText)
	}
	return fstest.MapFS{"workflow.toml": {Data: []byte(s.String())}, "s.wasm": {Data: module}}
}

// toolsFile writes the operator's file for the receiver.
func toolsFile(t *testing.T, r *receiver) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "tools.toml")
	text := fmt.Sprintf("pawl = 1\n[tool.%s]\nkind = \"http\"\neffect = \"keyed\"\nurl = %q\nmethod = \"POST\"\nallow = [\"private\"]\n"+
		"retry = { tries = 100, backoff = \"5ms\", max_backoff = \"40ms\" }\n", wasmtest.ToolText, r.server.URL)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func loadTools(name string) (*host.Registry, error) {
	return toolfile.Load(name, map[string]toolfile.Kind{"http": httptool.Kind})
}
