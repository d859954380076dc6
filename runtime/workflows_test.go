package runtime_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Two versions of a workflow and another one are shown as they were deployed,
// with what this engine has of their tools, and with the open runs of each.
//
// Seen red with runs that are counted by their workflow's name, and with the
// last deployed taken for the latest.
func TestWorkflowsAreShown(t *testing.T) {
	long(t)
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	if all, err := b.engine.Workflows(); err != nil || len(all) != 0 || all == nil {
		t.Errorf("none: %v, %v", all, err)
	}
	first := folder(t, "[budget]\ncalls = 7\nactive_time = \"2s\"\nunits = { tokens = 9, calls = 3 }", `tools = ["keyed"]`)
	second := folder(t, "", `tools = ["keyed", "kv.get"]`, "tools = [\"pay\"]\n[step.tool.pay]\nuse = \"payments\"")
	second["workflow.toml"].Data = []byte(strings.NewReplacer(`version = "1"`, `version = "2"`, `{ type = "object" }`, `"in.json"`).
		Replace(string(second["workflow.toml"].Data)))
	const schema = `{ "type": "object", "required": ["one"] }`
	second["in.json"] = &fstest.MapFile{Data: []byte(schema)}
	other := folder(t, "", ``)
	other["workflow.toml"].Data = []byte(strings.Replace(string(other["workflow.toml"].Data), `name = "test"`, `name = "other"`, 1))
	one := b.deploy(first)
	two, another := b.deploy(second), b.deploy(other)
	b.deploy(first) // again: its name means it now
	for _, id := range []string{"a", "b", "c"} {
		b.rest(b.start(one, id, `{"one":[{"fail":"wrong"}]}`))
	}
	b.rest(b.start(one, "ended", `{"one":[]}`))
	b.rest(b.start(another, "d", `{"one":[{"fail":"wrong"}]}`))

	all, err := b.engine.Workflows()
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if got := []string{all[0].Digest, all[1].Digest, all[2].Digest}; !slices.Equal(got, []string{another.Digest(), one.Digest(), two.Digest()}) {
		t.Errorf("in the order %q", got)
	}
	imports := []string{"pawl_v1.call", "pawl_v1.put", "pawl_v1.take"}
	for _, name := range all[1].Modules[0].Imports {
		if !strings.HasPrefix(name, "wasi_snapshot_preview1.") && !slices.Contains(imports, name) {
			t.Errorf("imports %s", name)
		}
	}
	if got := all[1].Modules[0].Imports; !slices.Equal(got, slices.Compact(slices.Sorted(slices.Values(got)))) {
		t.Errorf("imports %q: not sorted, or one twice", got)
	}
	module := pawl.ModuleDocument{
		Name: "script.wasm", Digest: digest(first["script.wasm"].Data), Size: int64(len(first["script.wasm"].Data)), Imports: all[1].Modules[0].Imports,
	}
	for i, want := range []pawl.WorkflowDocument{
		{
			Name: "other", Version: "1", Digest: another.Digest(), Latest: true, OpenRuns: 1, Modules: []pawl.ModuleDocument{module},
			Steps:  []pawl.StepDocument{{Name: "one", Module: "script.wasm", Grants: []pawl.GrantDocument{}}},
			Limits: map[string]int64{"recoveries": 5}, Input: []byte(`{"type":"object"}`), Missing: []string{},
		},
		{
			Name: "test", Version: "1", Digest: one.Digest(), Latest: true, OpenRuns: 3, Modules: []pawl.ModuleDocument{module},
			Steps:  []pawl.StepDocument{{Name: "one", Module: "script.wasm", Grants: []pawl.GrantDocument{{Tool: "keyed", Effect: "keyed"}}}},
			Limits: map[string]int64{"recoveries": 5, "calls": 7, "active_ms": 2000, "tokens": 9, "units.calls": 3},
			Input:  []byte(`{"type":"object"}`), Missing: []string{},
		},
		{
			Name: "test", Version: "2", Digest: two.Digest(), Modules: []pawl.ModuleDocument{module},
			Steps: []pawl.StepDocument{
				{Name: "one", Module: "script.wasm", Grants: []pawl.GrantDocument{{Tool: "keyed", Effect: "keyed"}, {Tool: "kv.get", Effect: "read"}}},
				{Name: "two", Module: "script.wasm", Grants: []pawl.GrantDocument{{Tool: "pay", Use: "payments"}}},
			},
			Limits: map[string]int64{"recoveries": 5}, Input: []byte(schema), Missing: []string{"payments"},
		},
	} {
		if want.Deployed = all[i].Deployed; want.Deployed.IsZero() {
			t.Error("deployed at no time")
		}
		if diff := cmp.Diff(want, all[i]); diff != "" {
			t.Error(diff)
		}
	}
}

// A workflow that cannot be read does not keep the others from being shown.
//
// Seen red with the first mistake returned alone.
func TestWorkflowThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.damaged = true
	good := b.deploy(folder(t, "", ``))
	bad := folder(t, "[budget]\ncalls = 1", ``)
	lost := b.deploy(bad)
	batch := new(kv.Batch)
	batch.Set([]byte("w/"+strings.TrimPrefix(lost.Digest(), "sha256:")), []byte("?"))
	commit(t, b.store.Commit(batch))
	all, err := b.engine.Workflows()
	if len(all) != 1 || all[0].Digest != good.Digest() || !errors.Is(err, pawl.ErrUndecodable) {
		t.Errorf("%+v, %v", all, err)
	}
}
