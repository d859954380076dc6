package runtime_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// version is the workflow of two steps, changed as the pairs of old and new
// text say: what a step does comes from its `with`, so that another text is
// other code.
func version(t *testing.T, pairs ...string) fstest.MapFS {
	t.Helper()
	f := folder(t, "", `tools = ["keyed"]`, `tools = ["keyed", "read"]`)
	f["workflow.toml"] = &fstest.MapFile{Data: []byte(strings.NewReplacer(pairs...).Replace(string(f["workflow.toml"].Data)))}
	return f
}

// A step fails for a mistake in its code; it is mended, and the run goes on:
// nothing is sent twice, and a step with one attempt gets one by other code.
// Seen red with attempts that are not spared and with a rehearsal that may send.
func TestRunGoesOnWithMendedCode(t *testing.T) {
	t.Parallel()
	keyed, read, tools := keyedAndRead()
	b := setup(t, tools...)
	input := `{"one":[{"call":"keyed"}],"two":[{"call":"keyed"},{"fail":"mistake"}],
		"mended":[{"call":"keyed"},{"call":"read"},{"call":"keyed"}]}`
	r := b.start(b.deploy(version(t)), "r1", input)
	if c := b.rest(r); c.State != pawl.StateFailed || c.LastError.Code != "mistake" {
		t.Fatalf("%s %+v", c.State, c.LastError)
	}
	mended := b.deploy(version(t, "input.two", "input.mended", `version = "1"`, `version = "2"`))
	if err := r.Upgrade(t.Context(), mended); err != nil {
		t.Fatal(err)
	}
	if keyed.sent.Load() != 2 || read.sent.Load() != 0 {
		t.Errorf("the rehearsal sent %d and %d", keyed.sent.Load()-2, read.sent.Load())
	}
	b.reopen()
	c := b.document("r1")
	if c.Workflow.Version != "2" || c.Workflow.Digest != mended.Digest() || len(c.Upgrades) != 1 || c.Upgrades[0].To != mended.Digest() {
		t.Errorf("%+v %+v", c.Workflow, c.Upgrades)
	}
	c = b.resume("r1")
	if got := b.output(c); got != `[{"n":2},{"n":1},{"n":3}]` {
		t.Error(got)
	}
	if keyed.sent.Load() != 3 || keyed.distinctKeys() != 3 || c.Steps[0].Attempts != 1 || c.Steps[1].Attempts != 2 {
		t.Errorf("%d sendings with %d keys, attempts %d and %d", keyed.sent.Load(), keyed.distinctKeys(), c.Steps[0].Attempts, c.Steps[1].Attempts)
	}
}

func TestUpgradeThatDoesNotReplayEqual(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		pairs []string
		want  string // of the first difference
	}{
		{"another request", []string{"input.two", "input.other"}, "step two, call 1: expected keyed with request"},
		{"another tool", []string{"input.two", "input.reads"}, "got read with request"},
		{"fewer calls", []string{"input.two", "input.short"}, "step two, call 1: expected keyed, got the end of the step"},
		{"a mistake before the calls", []string{"input.two", "input.early"}, "step two, call 0: expected keyed, got the end of the step"},
		{"another tool behind the name", []string{`"keyed", "read"]`, "\"keyed\", \"read\"]\n[step.tool.\"keyed\"]\nuse = \"read\""}, "step two, call 0: expected keyed"},
		{"an input that cannot be made", []string{"input.two", "input.missing"}, "step two: with"},
		{"another name of a completed step", []string{`name = "one"`, `name = "three"`}, "step one: the new version has three in its place"},
		{"another name of the workflow", []string{`name = "test"`, `name = "other"`}, "workflow: the run is one of test, not of other"},
		{"an input that does not fit", []string{`{ type = "object" }`, `{ type = "object", required = ["x"] }`}, "input: "},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			keyed, _, tools := keyedAndRead()
			b := setup(t, tools...)
			r := b.start(b.deploy(version(t)), "r1", `{"one":[{"call":"keyed"}],
				"two":[{"call":"keyed"},{"call":"keyed","request":{"x":1}},{"fail":"mistake"}],
				"other":[{"call":"keyed"},{"call":"keyed","request":{"x":2}}],
				"reads":[{"call":"keyed"},{"call":"read"}],
				"short":[{"call":"keyed"}],
				"early":[{"fail":"mistake"}]}`)
			before := b.rest(r)
			err := r.Upgrade(t.Context(), b.deploy(version(t, row.pairs...)))
			var incompatible *pawl.IncompatibleError
			if !errors.As(err, &incompatible) || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v, want %q", err, row.want)
			}
			after := b.rest(r)
			if after.Seq != before.Seq || after.Workflow != before.Workflow || keyed.sent.Load() != 3 {
				t.Errorf("seq %d -> %d, %+v, %d sendings", before.Seq, after.Seq, after.Workflow, keyed.sent.Load())
			}
		})
	}
}

// A tool that the run has called and that promises something else keeps it
// where it is; one that it has not called does not.
func TestUpgradeLooksAtThePromisesThatWereRelied(t *testing.T) {
	t.Parallel()
	keyed, read, tools := keyedAndRead()
	b := setup(t, tools...)
	b.start(b.deploy(version(t)), "r1", `{"one":[{"call":"keyed"}],"two":[{"fail":"mistake"}],"mended":[{"call":"read"}]}`)
	b.rest(b.find("r1"))
	changed := func(keyedClass, readClass host.Class) *pawl.Workflow {
		b.reopen(keyed.tool("keyed", host.Contract{Effect: keyedClass}, nil), read.tool("read", host.Contract{Effect: readClass}, nil))
		return b.deploy(version(t, "input.two", "input.mended"))
	}
	upgrade := func(w *pawl.Workflow) error { return b.find("r1").Upgrade(t.Context(), w) }
	if err := upgrade(changed(host.Once, host.Read)); !errors.Is(err, pawl.ErrIncompatible) || !strings.Contains(err.Error(), "tool keyed: contract changed") {
		t.Error(err)
	}
	if err := upgrade(changed(host.Keyed, host.Once)); err != nil {
		t.Fatal(err)
	}
	b.output(b.resume("r1"))
}

// An attempt that a crash cut off goes on as the same attempt, with other code.
func TestInterruptedRunIsUpgraded(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.close()
	b.crashAt(func(e pawl.Event) bool { return e.Kind == pawl.Sent && e.Step == "two" })
	b.open()
	r := b.start(b.deploy(version(t)), "r1", `{"one":[{"call":"keyed"}],"two":[{"call":"keyed"},{"fail":"mistake"}],"mended":[{"call":"keyed"}]}`)
	b.crashed(r)
	b.close()
	b.crashAt(nil)
	b.opts.NoRecovery = true
	b.open()
	if err := b.find("r1").Upgrade(t.Context(), b.deploy(version(t, "input.two", "input.mended"))); err != nil {
		t.Fatal(err)
	}
	c := b.resume("r1")
	b.output(c)
	if keyed.sent.Load() != 3 || keyed.distinctKeys() != 2 || c.Steps[1].Attempts != 1 || c.Budgets.Recoveries.Used != 1 {
		t.Errorf("%d sendings, attempt %d, %d recoveries", keyed.sent.Load(), c.Steps[1].Attempts, c.Budgets.Recoveries.Used)
	}
}

func TestRunsThatAreNotUpgraded(t *testing.T) {
	t.Parallel()
	keyed, read := new(counter), new(counter)
	reached, held := make(chan struct{}), make(chan struct{})
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, func(n int64, _ *host.Call) (any, error) {
		if n == 1 {
			close(reached)
			<-held
		}
		return map[string]any{"n": n}, nil
	}), read.tool("read", host.Contract{Effect: host.Read}, nil))
	w, newer := b.deploy(version(t)), b.deploy(version(t, `version = "1"`, `version = "2"`))
	r := b.start(w, "r1", `{"one":[{"call":"keyed"}],"two":[]}`)
	<-reached
	if err := r.Upgrade(t.Context(), newer); !errors.Is(err, pawl.ErrAlreadyRunning) {
		t.Errorf("under way: %v", err)
	}
	close(held)
	before := b.rest(r)
	b.output(before)
	if err := r.Upgrade(t.Context(), newer); err != nil {
		t.Errorf("completed: %v", err)
	}
	if after := b.rest(r); after.Seq != before.Seq {
		t.Error("a completed run was moved")
	}
}
