package manifest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

// refund is the example of the format's description, without what does not
// exist yet.
const refund = `pawl = 1                                   # format of this file

[workflow]
name     = "refund"
version  = "1.0.0"
title    = "Refund {input.order}"          # what people see in lists, mails, logs
labels   = { order = "{input.order}" }     # indexed: people search by these
input    = "schema/ticket.json"            # JSON Schema 2020-12: a file or an inline table
deadline = "72h"                           # absolute, from the start
on_failure = "hold"                        # hold (default) | compensate

[budget]                                   # of the whole run, over all processes
attempts    = 12
calls       = 60
recoveries  = 5                            # in a row at one journal position; the total is shown, not limited
work        = 50_000_000                   # counted inside guests
active_time = "10m"                        # downtime and parked time do not count
units       = { tokens = 20_000, eur_cent = 50_000 }

[[step]]
name   = "validate"
module = "refund.wasm"
tools  = ["tickets.claim"]

[[step]]
name   = "lookup"
module = "refund.wasm"
tools  = ["orders.get", "orders.hold"]
with   = { ticket = "input" }              # without ` + "`with`" + ` a step gets the output of the one before

[[step]]
name   = "draft"
module = "refund.wasm"
tools  = ["llm.complete", "tickets.note"]
with   = { ticket = "input", order = "steps.lookup" }
retry  = { attempts = 4, backoff = "1s", max_backoff = "1m" }
limits = { memory = "64MiB", work = 5_000_000, calls = 20 }

[[step]]
name   = "send"
module = "refund.wasm"
tools  = ["pay.refund", "mail.send"]

[step.tool."pay.refund"]                   # what this step may do with that tool
use      = "payments-eu"                   # the operator's tool; default: the same name
`

const ticket = `{
  "type": "object",
  "properties": {"id": {"type": "string"}, "order": {"type": "string"}, "amount": {"type": "integer", "minimum": 0}, "mail": {"type": "string", "format": "email"}},
  "required": ["id", "order"],
  "additionalProperties": false
}`

func folder(toml string, files ...string) fs.FS {
	out := fstest.MapFS{"workflow.toml": {Data: []byte(toml)}, "schema/ticket.json": {Data: []byte(ticket)}}
	for i := 0; i < len(files); i += 2 {
		out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return out
}

func load(t *testing.T, toml string, files ...string) *manifest.Workflow {
	t.Helper()
	w, err := manifest.Load(folder(toml, files...))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestLoadTheExampleOfTheFormat(t *testing.T) {
	t.Parallel()
	w := load(t, refund)
	type step struct {
		Name, Module string
		Tools        []manifest.Grant
		Retry        manifest.Retry
		Limits       manifest.Limits
	}
	var steps []step
	for _, s := range w.Steps {
		steps = append(steps, step{s.Name, s.Module, s.Tools, s.Retry, s.Limits})
	}
	once := manifest.Retry{Attempts: 1, Backoff: time.Second, MaxBackoff: time.Minute}
	want := []step{
		{"validate", "refund.wasm", []manifest.Grant{{"tickets.claim", "tickets.claim"}}, once, manifest.Limits{}},
		{"lookup", "refund.wasm", []manifest.Grant{{"orders.get", "orders.get"}, {"orders.hold", "orders.hold"}}, once, manifest.Limits{}},
		{
			"draft", "refund.wasm",
			[]manifest.Grant{{"llm.complete", "llm.complete"}, {"tickets.note", "tickets.note"}},
			manifest.Retry{Attempts: 4, Backoff: time.Second, MaxBackoff: time.Minute},
			manifest.Limits{MemoryPages: 1024, Work: 5_000_000, Calls: 20},
		},
		{"send", "refund.wasm", []manifest.Grant{{"pay.refund", "payments-eu"}, {"mail.send", "mail.send"}}, once, manifest.Limits{}},
	}
	if d := cmp.Diff(want, steps); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	budget := manifest.Budget{Attempts: 12, Calls: 60, Recoveries: 5, Active: 10 * time.Minute, Work: 50_000_000, Units: map[string]int64{"tokens": 20000, "eur_cent": 50000}}
	if d := cmp.Diff(budget, w.Budget); d != "" {
		t.Errorf("budget (-want +got):\n%s", d)
	}
	if w.Name != "refund" || w.Version != "1.0.0" || w.Deadline != 72*time.Hour {
		t.Errorf("name %q, version %q, deadline %v", w.Name, w.Version, w.Deadline)
	}
	if d := cmp.Diff(map[string]manifest.Module{"refund.wasm": {Go: "."}}, w.Modules); d != "" {
		t.Errorf("modules (-want +got):\n%s", d)
	}
	if d := cmp.Diff(map[string][]byte{"workflow.toml": []byte(refund), "schema/ticket.json": []byte(ticket)}, w.Files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

func TestLoadTheSmallest(t *testing.T) {
	t.Parallel()
	w := load(t, smallest)
	if d := cmp.Diff(manifest.Budget{Recoveries: manifest.DefaultRecoveries}, w.Budget); d != "" {
		t.Error(d)
	}
	if got := w.Title([]byte(`{}`)); got != "w" {
		t.Errorf("title %q, want the workflow's name", got)
	}
	if err := w.CheckInput([]byte(`[1,"any",null]`)); err != nil {
		t.Errorf("without a schema: %v", err)
	}
}

const smallest = "pawl = 1\n[workflow]\nname = \"w\"\nversion = \"1\"\n[[step]]\nname = \"a\"\nmodule = \"a.wasm\"\n"

// What does not exist yet is refused with a sentence, never ignored.
func TestLoadRefusesWhatIsNotThereYet(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"approve", smallest + "tools = ['x']\n[step.tool.x]\napprove = \"request.amount > 10000\"", `workflow.toml:10:1: approve: approvals do not exist yet; remove it`},
		{"approver", smallest + "tools = ['x']\n[step.tool.x]\napprover = [\"finance\"]", `workflow.toml:10:1: approver: approvals do not exist yet; remove it`},
		{"compensate", strings.Replace(smallest, "[[step]]", "on_failure = 'compensate'\n[[step]]", 1), `workflow.toml:5:1: on_failure: compensation does not exist yet; remove it or write "hold"`},
		{"needs", smallest + "needs = ['a']", `workflow.toml:8:1: needs: steps run one after the other`},
		{"each", smallest + "each = 'input.items'", `workflow.toml:8:1: each: a step for each item does not exist yet; remove it`},
		{"when", smallest + "when = 'true'", `workflow.toml:8:1: when: conditions on steps do not exist yet; remove it`},
		{"no work of the run", smallest + "[budget]\nwork = 0", `workflow.toml:9:1: work must be above 0`},
		{"less than no work of a step", smallest + "limits = { work = -5 }", `workflow.toml:8:12: work must be above 0`},
		{"work as a text", smallest + "[budget]\nwork = \"5M\"", `workflow.toml:9:1: work`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if _, err := manifest.Load(folder(row.text)); err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

// Seen red for the references with the check of the address removed.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	second := smallest + "[[step]]\nname = \"b\"\nmodule = \"a.wasm\"\n"
	inWorkflow := func(line string) string { return strings.Replace(smallest, "[[step]]", line+"\n[[step]]", 1) }
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"an empty file", ``, []string{
			`:1:1: pawl = 1 is missing, the format of this file`,
			`:1:1: name is missing (a name begins with a-z and has up to 64 of a-z, 0-9 and _)`,
			`:1:1: version is missing (a version is a text such as "1.0.0")`,
			`:1:1: the workflow has no step (add a [[step]] with name and module)`,
		}},
		{"a format of the future", strings.Replace(smallest, "pawl = 1", "pawl = 2", 1), []string{`:1:1: pawl = 2 is a format that this Pawl does not read (it reads 1)`}},
		{"an unknown key", smallest + "modul = 1", []string{`:8:1: unknown key "modul" in [[step]] (did you mean "module"?)`}},
		{"wrong types", smallest + "tools = 'x'\nretry = { attempts = 'four' }", []string{`:8:1: tools must be an array, not a string`, `:9:11: attempts must be a whole number, not a string`}},
		{"a wrong name", strings.Replace(smallest, `"a"`, `"A-1"`, 1), []string{`:6:1: "A-1" cannot name the step (a name begins`}},
		{"two steps with one name", strings.Replace(second, `"b"`, `"a"`, 1), []string{`:9:1: two steps are named "a" (a step is known by its name; give each its own)`}},
		{"a step without a module", strings.Replace(smallest, "module = \"a.wasm\"\n", "", 1), []string{`:5:3: module is missing (a module is a .wasm file of this folder, such as "refund.wasm")`}},
		{"a module outside", strings.Replace(smallest, `"a.wasm"`, `"../a.wasm"`, 1), []string{`:7:1: module is not valid (a module is a .wasm file`}},
		{"a module that is no Wasm", strings.Replace(smallest, `"a.wasm"`, `"a.go"`, 1), []string{`:7:1: module is not valid (a module is a .wasm file`}},
		{"a module that no step uses", smallest + "[module.\"b.wasm\"]\ngo = './b'", []string{`:8:9: no step uses the module "b.wasm" (did you mean "a.wasm"?)`}},
		{"a package outside", smallest + "[module.\"a.wasm\"]\ngo = '../b'", []string{`:9:1: go is a folder of this folder, such as "./steps", not "../b"`}},
		{"a package elsewhere", smallest + "[module.\"a.wasm\"]\ngo = 'example.com/b'", []string{`:9:1: go is a folder of this folder`}},
		{"a tool's wrong name", smallest + "tools = ['ok', 'Not Ok']", []string{`:8:16: "Not Ok" cannot name a tool (a tool's name has up to 64 of a-z, 0-9, _, . and -)`}},
		{"a tool twice", smallest + "tools = ['x', 'x']", []string{`:8:15: the tool "x" is there twice`}},
		{"settings of a tool that is not granted", smallest + "tools = ['pay.refund']\n[step.tool.\"pay.refunds\"]\nuse = 'x'", []string{`:9:12: the step may not call "pay.refunds" (did you mean "pay.refund"?)`}},
		{"settings without any tool", smallest + "[step.tool.x]\nuse = 'y'", []string{`:8:12: the step may not call "x" (add it to tools)`}},
		{"no attempts", smallest + "retry = { attempts = 0 }", []string{`:8:11: attempts must be above 0 (without the key the default holds)`}},
		{"less and less back-off", smallest + "retry = { backoff = '2s', max_backoff = '1s' }", []string{`:8:27: max_backoff is 1s, less than backoff, 2s`}},
		{"half a page", smallest + "limits = { memory = '32KiB' }", []string{`:8:12: memory is a multiple of 64KiB up to 4GiB`}},
		{"more than Wasm has", smallest + "limits = { memory = '5GiB' }", []string{`:8:12: memory is a multiple of 64KiB up to 4GiB`}},
		{"a negative budget", smallest + "[budget]\ncalls = -1\nunits = { tokens = -5 }", []string{`:9:1: calls must be above 0 (without the key the default holds)`, `:10:11: tokens must not be negative`}},
		{"a wrong duration", inWorkflow(`deadline = "3 days"`), []string{`:5:1: deadline: "3 days" is no duration`}},
		{"another failure policy", inWorkflow(`on_failure = "retry"`), []string{`:5:1: on_failure must be "hold", not "retry"`}},
		{"a template without its end", inWorkflow(`title = "Refund {input.order"`), []string{`:5:1: title: a "{" without its "}"`}},
		{"a template over something else", inWorkflow(`title = "{steps.a}"`), []string{`:5:1: title: {steps.a} is no field of the input; write it like {input.order}`}},
		{"a label's wrong template and name", inWorkflow(`labels = { a = "}", B = "{input.b}" }`), []string{`:5:12: a: a "}" without its "{"`, `:5:21: "B" cannot name the label`}},
		{"a wrong expression", second + "with = { x = \"input.\" }", []string{`:11:10: with.x: 1:7: Syntax error`}},
		{"an unknown name in an expression", second + "with = { x = 'inptu' }", []string{`:11:10: with.x: 1:1: undeclared reference to 'inptu' (did you mean 'input'?) (known here: input, steps.a)`}},
		{"a later step in an expression", smallest + "with = { x = 'steps.b' }\n[[step]]\nname = 'b'\nmodule = 'a.wasm'", []string{`:8:10: with.x: 1:1: undeclared reference to 'steps' (known here: input) (b runs later)`}},
		{"a step's own output", smallest + "with = { x = 'steps.a' }", []string{`:8:10: with.x: 1:1: undeclared reference to 'steps' (known here: input) (a cannot use its own output)`}},
		{"an expression that is no text", smallest + "with = { x = 1 }", []string{`:8:10: x must be a string, not a whole number`}},
		{"a schema file that is not there", inWorkflow(`input = "schema/tickets.json"`), []string{`:5:1: input: there is no file schema/tickets.json in the folder`}},
		{"a schema file outside", inWorkflow(`input = "../ticket.json"`), []string{`:5:1: input: "../ticket.json" is no file of this folder`}},
		{"a schema that is neither", inWorkflow(`input = 5`), []string{`:5:1: input: a schema is the name of a JSON file or an inline table`}},
		{"a schema that is none", smallest + `output = { type = "strnig" }`, []string{`:8:1: output: no valid JSON Schema: /type: `}},
		{"a schema with a date", smallest + `output = { const = 2026-01-01 }`, []string{`:8:1: output: 2026-01-01 is nothing that JSON has`}},
		{"a schema of another draft", smallest + `output = { "$schema" = "http://json-schema.org/draft-07/schema#" }`, []string{`:8:1: output: $schema is http://json-schema.org/draft-07/schema#; Pawl reads https://json-schema.org/draft/2020-12/schema`}},
		// The next five seen red without checkCost.
		{"a schema whose references multiply", smallest + doubling(14), []string{`:8:1: output: #: one value would be checked against more than 2000 schemas`}},
		{"a schema whose references multiply further in", smallest + `output = { properties = { a = { allOf = [` + strings.Repeat(`{ type = "string" }, `, 2000) + `] } } }`, []string{`:8:1: output: #/properties/a: one value would be checked`}},
		{"a schema that leads back to itself", smallest + `output = { allOf = [{ "$ref" = "#" }] }`, []string{`:8:1: output: #: one value would be checked`}},
		{"a schema with a dynamic reference", smallest + `output = { "$dynamicAnchor" = "a", items = { "$dynamicRef" = "#a" } }`, []string{`:8:1: output: #/items: references must be $ref`}},
		{"an inner schema of another draft", smallest + `output = { properties = { a = { "$id" = "x.json", "$schema" = "http://json-schema.org/draft-07/schema#" } } }`, []string{`:8:1: output: #/properties/a: an inner $schema is of another draft`}},
		{"a schema that refers to the network", smallest + `output = { "$ref" = "https://example.com/a.json" }`, []string{`:8:1: output: https://example.com/a.json: a schema may refer only to files of the workflow's folder`}},
		{"a schema that refers to the machine's files", smallest + `output = { "$ref" = "file:///etc/passwd" }`, []string{`:8:1: output: file:///etc/passwd: a schema may refer only to files of the workflow's folder`}},
		{"a pattern that does not compile", smallest + `output = { pattern = "(" }`, []string{`:8:1: output: `}},
		{"a schema file that is no JSON", inWorkflow(`input = "bad.json"`), []string{`:5:1: input: bad.json:2:9: `}},
		{"no TOML", "pawl = ", []string{`:1:7: expected value`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := manifest.Load(folder(row.text, "bad.json", "{\n \"type\" 5}"))
			var one *manifest.Error
			if !errors.As(err, &one) {
				t.Fatalf("error %v (%T), want an *Error", err, err)
			}
			got := strings.Split(err.Error(), "\n")
			if len(got) != len(row.want) {
				t.Fatalf("got\n%s\nwant\n%s", err, strings.Join(row.want, "\n"))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], "workflow.toml"+row.want[i]) {
					t.Errorf("got  %s\nwant workflow.toml%s", got[i], row.want[i])
				}
			}
		})
	}
}

func TestLoadWithoutTheFile(t *testing.T) {
	t.Parallel()
	_, err := manifest.Load(fstest.MapFS{})
	if want := "workflow.toml: there is no such file in the folder (a workflow is a folder with a workflow.toml)"; err == nil || err.Error() != want {
		t.Errorf("%v; want %s", err, want)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(refund, ticket)
	f.Add(smallest+"output = { \"$ref\" = \"schema/ticket.json#/properties\" }", ticket)
	f.Add(smallest+"with = { x = 'input.a[0] + 1' }\n[[step.tools]]", `{"$ref":"ticket.json"}`)
	f.Fuzz(func(t *testing.T, toml, schema string) {
		w, err := manifest.Load(folder(toml, "schema/ticket.json", schema))
		var one *manifest.Error
		switch {
		case err != nil && !errors.As(err, &one):
			t.Fatalf("error of type %T: %v", err, err)
		case err == nil && (len(w.Steps) == 0 || w.Digest(nil) == ""):
			t.Fatalf("a workflow without steps")
		case err == nil:
			_ = w.CheckInput([]byte(`{"id":"x","order":[1]}`))
			_, _ = w.Steps[0].Input([]byte(`{"a":[1]}`), nil, nil)
			w.Title([]byte(`{"order":{"a":1}}`))
		}
	})
}

// doubling is a schema in which each definition refers twice to the next, n times.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString(`output = { "$ref" = "#/$defs/a0", "$defs" = { `)
	for i := range n {
		fmt.Fprintf(&b, `a%d = { allOf = [{ "$ref" = "#/$defs/a%d" }, { "$ref" = "#/$defs/a%d" }] }, `, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `a%d = { type = "object" } } }`, n)
	return b.String()
}
