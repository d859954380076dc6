package runtime_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// checkDocument checks a document against the published schema.
func checkDocument(t testing.TB, c *pawl.Checkpoint) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(pawl.CheckpointSchema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("checkpoint.json", schema); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.MustCompile("checkpoint.json").Validate(doc); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	for _, r := range c.Reasons {
		if !pawl.ListedReason(c.State, r) {
			t.Errorf("%s, %s and %s are not in the table of states", c.State, r.Code, r.Waker)
		}
	}
	for _, s := range c.Steps {
		for _, call := range s.Calls {
			if call.Key != "" && (call.FirstTry.Before(c.Started) && call.BusinessKey == "" || call.LastTry.Before(call.FirstTry) || call.LastTry.After(c.Updated)) {
				t.Errorf("%s %s was tried from %v to %v, in a run from %v to %v", s.Name, call.Tool, call.FirstTry, call.LastTry, c.Started, c.Updated)
			}
		}
	}
	if bytes.Contains(text, []byte(":null")) {
		t.Errorf("a null in %s", text)
	}
}

// Every state that a run can rest in has a document that fits the schema and
// says who can move the run.
func TestDocumentOfEveryRestingState(t *testing.T) {
	t.Parallel()
	var once, read, keyed counter
	tools := []host.Tool{
		once.tool("once", host.Contract{Help: "look for {key}"}, func(int64, *host.Call) (any, error) { return nil, errors.New("lost") }),
		read.tool("read", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) { return nil, errors.New("down") }),
		keyed.tool("keyed", host.Contract{Effect: host.Keyed, Compensation: &host.Compensation{Tool: "undo"}}, nil),
	}
	for _, row := range []struct {
		name, head, step, program string
		state                     pawl.RunState
		reason                    string
	}{
		{"completed", "", `tools = ["keyed"]`, `[{"call":"keyed"},{"big":9000}]`, pawl.StateCompleted, ""},
		{"an unknown outcome", "", `tools = ["once"]`, `[{"call":"once"}]`, pawl.StateNeedsDecision, "unknown"},
		{"a timer", "", "tools = [\"read\"]\nretry = { attempts = 2, backoff = \"2h\", max_backoff = \"2h\" }", `[{"call":"read"}]`, pawl.StateWaiting, "timer"},
		{"no attempt left", "", `tools = ["read"]`, `[{"call":"read"}]`, pawl.StateFailed, "error"},
		{"told to fail", "", ``, `[{"fail":"wrong_status"}]`, pawl.StateFailed, "wrong_status"},
		{"no grant", "", ``, `[{"call":"keyed"}]`, pawl.StateFailed, "denied"},
		{"calls spent", "[budget]\ncalls = 1", `tools = ["keyed"]`, `[{"call":"keyed"},{"call":"keyed"}]`, pawl.StateNeedsDecision, "budget"},
		{"panic", "", ``, `[{"panic":"boom"}]`, pawl.StateFailed, "panic"},
		{"out of memory", "", `limits = { memory = "32MiB" }`, `[{"eat":true}]`, pawl.StateFailed, "out_of_memory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, tools...)
			w := b.deploy(folder(t, row.head, row.step))
			c := b.wait(b.start(w, "r1", `{"one":`+row.program+`}`), 0)
			checkDocument(t, c)
			var reason string
			if len(c.Reasons) > 0 {
				reason = c.Reasons[0].Code
				if c.Reasons[0].Waker == "" || c.Reasons[0].Sentence == "" {
					t.Errorf("nobody can move it: %+v", c.Reasons[0])
				}
			}
			if c.State != row.state || reason != row.reason {
				t.Errorf("state %s, reasons %+v, want %s, %s", c.State, c.Reasons, row.state, row.reason)
			}
			if c.State != pawl.StateCompleted && c.ResumeFrom != "one" {
				t.Errorf("resume from %q", c.ResumeFrom)
			}
		})
	}
}

func TestSeqRisesWithEveryRecord(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`, ``))
	c := b.rest(b.start(w, "r1", `{"one":[{"call":"keyed"}],"two":[]}`))
	// start and begin, intent, receipt, done and begin, done
	if c.Seq != 5 {
		t.Errorf("seq %d", c.Seq)
	}
}
