package runtime_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

const insideGrants = `tools = ["kv.get", "kv.put", "kv.delete"]`

// op is an operation of the script module on a value.
func op(tool, request string) string {
	return fmt.Sprintf(`{"call":%q,"request":%s}`, tool, request)
}

// output is what a completed run put out.
func (b *bundle) output(c *pawl.Checkpoint) string {
	b.t.Helper()
	if c.State != pawl.StateCompleted {
		b.t.Fatalf("%s: %+v", c.State, c.LastError)
	}
	return string(c.Output())
}

func TestValuesOfARunAndOfAWorkflow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", insideGrants))
	run := func(id string, ops ...string) string {
		t.Helper()
		return b.output(b.rest(b.start(w, id, `{"one":[`+strings.Join(ops, ",")+`]}`)))
	}
	for _, row := range []struct {
		name string
		ops  []string
		want string
	}{
		{"what is not there", []string{op("kv.get", `{"key":"a"}`)}, `[{"found":false}]`},
		{"a run sees its own value", []string{
			op("kv.put", `{"key":"a","value":{"n":[1,2.5,null]}}`), op("kv.get", `{"key":"a"}`),
		}, `[{},{"found":true,"value":{"n":[1,2.5,null]}}]`},
		{"another run does not", []string{op("kv.get", `{"key":"a"}`)}, `[{"found":false}]`},
		{"the workflow's values are others", []string{
			op("kv.put", `{"scope":"workflow","key":"a","value":null}`), op("kv.get", `{"key":"a"}`),
		}, `[{},{"found":false}]`},
		{"and all its runs see them", []string{op("kv.get", `{"scope":"workflow","key":"a"}`)}, `[{"found":true,"value":null}]`},
		{"a key within a key", []string{
			op("kv.put", `{"key":"x/y","value":1}`), op("kv.get", `{"key":"x"}`), op("kv.get", `{"key":"x/"}`),
		}, `[{},{"found":false},{"found":false}]`},
		{"deleting", []string{
			op("kv.put", `{"key":"a","value":1}`), op("kv.delete", `{"key":"a"}`), op("kv.delete", `{"key":"a"}`), op("kv.get", `{"key":"a"}`),
		}, `[{},{},{},{"found":false}]`},
		{"an expectation that holds", []string{
			op("kv.put", `{"key":"a","value":{"b":1,"c":2},"absent":true}`),
			op("kv.put", `{"key":"a","value":2,"expect":{"c":2, "b":1.0}}`),
			op("kv.delete", `{"key":"a","expect":2}`), op("kv.get", `{"key":"a"}`),
		}, `[{},{},{},{"found":false}]`},
		{"a large value", []string{
			op("kv.put", `{"key":"a","value":"`+strings.Repeat("x", 200_000)+`"}`), op("kv.get", `{"key":"a"}`),
		}, `[{},{"found":true,"value":"` + strings.Repeat("x", 200_000) + `"}]`},
	} {
		id := strings.ReplaceAll(strings.ReplaceAll(row.name, " ", "-"), "'", "")
		if got := run(id, row.ops...); got != row.want {
			t.Errorf("%s: %.200s, want %.200s", row.name, got, row.want)
		}
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	long(t)
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", insideGrants))
	for i, row := range []struct{ name, tool, request, status, code string }{
		{"another value than expected", "kv.put", `{"key":"a","value":2,"expect":7}`, "rejected", "conflict"},
		{"a value where none is expected", "kv.put", `{"key":"a","value":2,"absent":true}`, "rejected", "conflict"},
		{"no value where one is expected", "kv.delete", `{"key":"b","expect":null}`, "rejected", "conflict"},
		{"no key", "kv.get", `{}`, "invalid", "invalid_request"},
		{"a long key", "kv.get", `{"key":"` + strings.Repeat("k", 257) + `"}`, "invalid", "invalid_request"},
		{"a control character", "kv.get", `{"key":"a\u0000b"}`, "invalid", "invalid_request"},
		{"a misspelt field", "kv.put", `{"key":"a","value":1,"expected":1}`, "invalid", "invalid_request"},
		{"no value", "kv.put", `{"key":"a"}`, "invalid", "invalid_request"},
		{"a large value", "kv.put", `{"key":"a","value":"` + strings.Repeat("v", 256<<10) + `"}`, "invalid", "invalid_request"},
		{"an unknown scope", "kv.get", `{"key":"a","scope":"all"}`, "invalid", "invalid_request"},
		{"both expectations", "kv.put", `{"key":"a","value":1,"expect":1,"absent":true}`, "invalid", "invalid_request"},
		{"an expectation of a read", "kv.get", `{"key":"a","absent":true}`, "invalid", "invalid_request"},
	} {
		c := b.rest(b.start(w, fmt.Sprintf("r%d", i), `{"one":[`+op("kv.put", `{"key":"a","value":1}`)+`,`+op(row.tool, row.request)+`]}`))
		calls := c.Steps[0].Calls
		if c.State != pawl.StateFailed || len(calls) != 2 || c.LastError.Code != row.code {
			t.Errorf("%s: %s %+v", row.name, c.State, c.LastError)
			continue
		}
		if got := calls[1]; got.Status != row.status {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}

// cutting loses its power right before one of its commits.
type cutting struct {
	*power
	left int
}

func (c *cutting) Commit(b *kv.Batch) kv.Pending {
	if c.left--; c.left == 0 {
		c.cut()
	}
	return c.power.Commit(b)
}

// A change is made exactly once wherever the power is cut: twice, it would be
// refused as a conflict; never, the next one would be.
// Seen red with the change in a batch of its own before the call's.
func TestChangeOfAValueSurvivesAPowerCut(t *testing.T) {
	long(t)
	t.Parallel()
	input := `{"one":[` + strings.Join([]string{
		op("kv.put", `{"scope":"workflow","key":"n","value":1,"absent":true}`),
		op("kv.put", `{"scope":"workflow","key":"n","value":2,"expect":1}`),
		op("kv.get", `{"scope":"workflow","key":"n"}`),
		op("kv.delete", `{"scope":"workflow","key":"n","expect":2}`),
		op("kv.put", `{"scope":"workflow","key":"n","value":3,"absent":true}`),
	}, ",") + `],"two":[` + op("kv.get", `{"scope":"workflow","key":"n"}`) + `]}`
	b := setup(t)
	run := func(id string) (*pawl.Checkpoint, error) {
		w, err := b.engine.Deploy(t.Context(), folder(t, "", insideGrants, insideGrants))
		if err != nil {
			return nil, err
		}
		r, err := pawl.Start(t.Context(), w, id, json.RawMessage(input), nil)
		if err != nil {
			return nil, err
		}
		return r.Wait(t.Context(), 0)
	}
	if _, err := run("first"); err != nil { // from here on a deploy commits nothing
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		clear := fmt.Sprintf(`{"one":[%s],"two":[]}`, op("kv.delete", `{"scope":"workflow","key":"n"}`))
		b.output(b.rest(b.start(b.deploy(folder(t, "", insideGrants, insideGrants)), fmt.Sprintf("clear%d", n), clear)))
		b.close()
		b.wrap = func(s kv.Store) kv.Store { return &cutting{&power{Store: s}, n} }
		b.open()
		id := fmt.Sprintf("r%d", n)
		_, err := run(id)
		b.close()
		b.wrap = nil
		b.open()
		if err == nil {
			if n < 10 {
				t.Fatalf("only %d commits", n)
			}
			return
		}
		c, err := run(id)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.output(c); got != `[{"found":true,"value":3}]` {
			t.Fatalf("cut before commit %d: %s", n, got)
		}
		if got := c.Budgets.Calls.Used; got != 6 {
			t.Errorf("cut before commit %d: %d calls charged, want 6", n, got)
		}
	}
}

// Runs side by side count with compare-and-set: none is lost.
// Seen red without turns.
func TestRunsSideBySideChangeOneValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", insideGrants))
	const runs = 8
	var ops []string
	for i := range runs { // exactly one of the runs gets from i to i+1
		ops = append(ops, fmt.Sprintf(`{"call":"kv.put","ignore":true,"request":{"scope":"workflow","key":"n","value":%d,%s}}`,
			i+1, map[bool]string{true: `"absent":true`, false: fmt.Sprintf(`"expect":%d`, i)}[i == 0]))
	}
	var all sync.WaitGroup
	var done atomic.Int64
	for n := range runs {
		all.Go(func() {
			c := b.rest(b.start(w, fmt.Sprintf("r%d", n), `{"one":[`+strings.Join(ops, ",")+`]}`))
			done.Add(int64(strings.Count(b.output(c), "{}")))
		})
	}
	all.Wait()
	if done.Load() != runs {
		t.Errorf("%d changes were applied, want %d", done.Load(), runs)
	}
	if got := b.output(b.rest(b.start(w, "last", `{"one":[`+op("kv.get", `{"scope":"workflow","key":"n"}`)+`]}`))); got != `[{"found":true,"value":8}]` {
		t.Error(got)
	}
}

func TestToolsOfTheStoreKeepTheirNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tools, err := host.NewRegistry(new(counter).tool("kv.put", host.Contract{}, nil))
	if err != nil {
		t.Fatal(err)
	}
	_, err = pawl.Open(t.Context(), b.store, &pawl.Options{Tools: tools, CacheDir: cacheDir()})
	if err == nil || !strings.Contains(err.Error(), "kv.put is the store's own") {
		t.Error(err)
	}
}
