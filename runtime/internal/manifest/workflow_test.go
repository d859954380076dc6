package manifest_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/expr"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

func TestCheckInput(t *testing.T) {
	t.Parallel()
	w := load(t, refund)
	for _, row := range []struct {
		name, input string
		want        []manifest.Problem // nil: it fits
	}{
		{"fits", `{"id":"T1","order":"W1","amount":5}`, nil},
		{"a missing field and a wrong type", `{"id":7}`, []manifest.Problem{{"", "missing property 'order'"}, {"/id", "got number, want string"}}},
		{"an unknown field", `{"id":"a","order":"b","amuont":1}`, []manifest.Problem{{"", "additional properties 'amuont' not allowed"}}},
		{"a fraction of a cent", `{"id":"a","order":"b","amount":1.5}`, []manifest.Problem{{"/amount", "got number, want integer"}}},
		{"a format is asserted", `{"id":"a","order":"b","mail":"nobody"}`, []manifest.Problem{{"/mail", "'nobody' is not valid email: missing @"}}},
		{"no JSON", `{"id"`, []manifest.Problem{{"", "not usable JSON: at byte 5: the JSON text ends too early"}}},
		{"a name twice", `{"id":"a","id":"b","order":"c"}`, []manifest.Problem{{"", `not usable JSON: at byte 14: the name "id" is there twice in one object`}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := w.CheckInput([]byte(row.input))
			var typed *manifest.SchemaError
			if row.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &typed) {
				t.Fatalf("error %v (%T), want a *SchemaError", err, err)
			}
			if d := cmp.Diff(row.want, typed.Problems); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if !strings.HasPrefix(err.Error(), "the input does not fit its schema: ") {
				t.Errorf("text %q", err)
			}
		})
	}
}

func TestCheckOutputWithReferences(t *testing.T) {
	t.Parallel()
	w := load(t, smallest+`output = { type = "array", items = { "$ref" = "schema/item.json" }, maxItems = 2 }`,
		"schema/item.json", `{"$ref": "common.json#/$defs/amount"}`,
		"schema/common.json", `{"$defs": {"amount": {"type": "integer"}}}`)
	step := &w.Steps[0]
	if err := step.CheckOutput([]byte(`[1, 9007199254740993]`)); err != nil {
		t.Error(err)
	}
	want := "the output of a does not fit its schema: maxItems: got 3, want 2; /1: got string, want integer; /2: got null, want integer"
	if err := step.CheckOutput([]byte(`[1,"x",null]`)); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for _, name := range []string{"schema/item.json", "schema/common.json"} {
		if w.Files[name] == nil {
			t.Errorf("%s is not among the workflow's files, so it is not part of its identity", name)
		}
	}
}

// Seen red with unprintable characters let through.
func TestTitleAndLabels(t *testing.T) {
	t.Parallel()
	w := load(t, strings.Replace(smallest, "[[step]]", `title = "Refund {input.order} of {input.who.name}: {input.n} {input.list}"
labels = { order = "{input.order}", both = "{input.order}/{input.n}", fixed = "x" }
[[step]]`, 1))
	for _, row := range []struct {
		name, input, title string
		labels             map[string]string
	}{
		{"all there", `{"order":"W1","who":{"name":"Ana"},"n":9007199254740993,"list":[1,"a"]}`, `Refund W1 of Ana: 9007199254740993 [1,"a"]`, map[string]string{"order": "W1", "both": "W1/9007199254740993", "fixed": "x"}},
		{"missing fields are empty", `{"who":"Ana","n":null}`, `Refund  of :`, map[string]string{"both": "/", "fixed": "x"}},
		{"no object", `[1]`, `Refund  of :`, map[string]string{"both": "/", "fixed": "x"}},
		{"control characters stay out of terminals", `{"order":"a\u001b[31m\nb\u202e"}`, `Refund a [31m b  of :`, map[string]string{"order": "a [31m b", "both": "a [31m b /", "fixed": "x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := w.Title([]byte(row.input)); got != row.title {
				t.Errorf("title %q, want %q", got, row.title)
			}
			if d := cmp.Diff(row.labels, w.Labels([]byte(row.input))); d != "" {
				t.Errorf("labels (-want +got):\n%s", d)
			}
		})
	}
	long, _ := json.Marshal(map[string]string{"order": strings.Repeat("ä", 500)})
	if got := len([]rune(w.Title(long))); got != 200 {
		t.Errorf("a long title has %d characters, want 200", got)
	}
}

func TestStepInput(t *testing.T) {
	t.Parallel()
	w := load(t, refund)
	outputs := map[string]json.RawMessage{"validate": []byte(`{"ok":true}`), "lookup": []byte(`{"total":9007199254740993}`)}
	for i, want := range []string{
		`{"previous":1}`,
		`{"ticket":{"id":"T1"}}`,
		`{"order":{"total":9007199254740993},"ticket":{"id":"T1"}}`,
		`{"previous":1}`,
	} {
		got, err := w.Steps[i].Input([]byte(`{"id":"T1"}`), outputs, []byte(`{"previous":1}`))
		if err != nil || string(got) != want {
			t.Errorf("input of %s = %s, %v; want %s", w.Steps[i].Name, got, err, want)
		}
	}
}

func TestStepInputErrors(t *testing.T) {
	t.Parallel()
	w := load(t, smallest+"with = { n = 'input.order.total + 1', id = 'input.id' }")
	_, err := w.Steps[0].Input([]byte(`{"id":1,"order":{}}`), nil, nil)
	var with *manifest.WithError
	var eval *expr.EvalError
	if !errors.As(err, &with) || !errors.As(err, &eval) || with.Step != "a" || with.Field != "n" {
		t.Errorf("error %v (%T), want a *WithError about n of a", err, err)
	}
	if want := `input of a: with.n: 1:12: no such key: total (in "input.order.total + 1")`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := w.Steps[0].Input([]byte(`{"id":18446744073709551616,"order":{"total":1}}`), nil, nil); err == nil || !strings.Contains(err.Error(), "would lose digits") {
		t.Errorf("an integer that no type holds: %v", err)
	}
}

func TestEmptyWithIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	w := load(t, smallest+"with = {}")
	if got, err := w.Steps[0].Input([]byte(`1`), nil, []byte(`2`)); string(got) != `{}` || err != nil {
		t.Errorf("input %s, %v; want {}", got, err)
	}
}

// Seen red without the lengths: "names run together" had the first's digest.
func TestDigest(t *testing.T) {
	t.Parallel()
	modules := map[string]string{"a.wasm": "sha256:1", "b.wasm": "sha256:2"}
	first := load(t, smallest).Digest(modules)
	// The formula must never change silently: a workflow would be a new one.
	if want := "sha256:92271fb9fbe2444acb8e9b3093d4848964e49fb4b6f14c68adf278684a722f7c"; first != want {
		t.Errorf("digest %s, want %s", first, want)
	}
	others := map[string]string{
		"a comment":           load(t, smallest+"# x").Digest(modules),
		"a module's bytes":    load(t, smallest).Digest(map[string]string{"a.wasm": "sha256:1", "b.wasm": "sha256:3"}),
		"a module's name":     load(t, smallest).Digest(map[string]string{"a.wasm": "sha256:1", "c.wasm": "sha256:2"}),
		"a module less":       load(t, smallest).Digest(map[string]string{"a.wasm": "sha256:1"}),
		"names run together":  load(t, smallest).Digest(map[string]string{"a.wasmsha256:1": "", "b.wasm": "sha256:2"}),
		"a schema file more":  load(t, smallest+`output = "schema/ticket.json"`).Digest(modules),
		"a schema's contents": load(t, smallest+`output = "schema/ticket.json"`, "schema/ticket.json", "{}").Digest(modules),
	}
	seen := map[string]string{first: "the first"}
	for name, d := range others {
		if other, twice := seen[d]; twice {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
}

// Seen red without the count: 22 levels did not end within 15 seconds.
func TestCostOfDocuments(t *testing.T) {
	t.Parallel()
	tree := load(t, smallest+`output = { type = "object", properties = { "in" = { "$ref" = "#" }, all = { items = { "$ref" = "#" } } } }`)
	twice := load(t, smallest+`output = { allOf = [{ properties = { "in" = { "$ref" = "#" } } }, { properties = { "in" = { "$ref" = "#" } } }] }`)
	flat := load(t, smallest+`output = { items = { type = "integer" } }`)
	nested := func(levels int) string { return strings.Repeat(`{"in":`, levels) + `{}` + strings.Repeat(`}`, levels) }
	for _, row := range []struct {
		name     string
		workflow *manifest.Workflow
		document string
		fits     bool
	}{
		{"recursion", tree, nested(900), true},
		{"recursion in many places", tree, `{"all":[` + strings.Repeat(nested(20)+",", 5000) + `{}]}`, true},
		{"recursion twice in a level, some levels", twice, nested(10), true},
		{"recursion twice in a level, many levels", twice, nested(22), false},
		{"more values than steps", flat, `[` + strings.Repeat("1,", 999_999) + `1]`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := row.workflow.Steps[0].CheckOutput([]byte(row.document))
			if row.fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "would take more than 1000000 steps") {
				t.Errorf("%.300v", err)
			}
		})
	}
}
