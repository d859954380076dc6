package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A step that asked to see unknown outcomes is told of one, in a replay too, and
// the call is not made again, by no attempt. It stays listed as unknown, and is
// not left behind in silence.
//
// Seen red with the wish not passed on, with an unknown call that is made again,
// and with one that no orphan is.
func TestStepThatSeesAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, program, state string
		cut                  func(pawl.Event) bool
		says                 string
	}{
		{"told", `{"call":"once","unknown":true,"ignore":true},{"call":"keyed"}`, "completed", nil, "cannot be asked"},
		{
			"told again in a replay", `{"call":"once","unknown":true,"ignore":true},{"call":"keyed"}`, "completed",
			func(e pawl.Event) bool { return e.Kind == pawl.Sent && e.Tool == "keyed" }, "cannot be asked",
		},
		{"told again by the next attempt", `{"call":"once","unknown":true,"ignore":true},{"call":"flaky"}`, "completed", nil, "cannot be asked"},
		{"left behind", `{"call":"flaky","ignore":true,"else":[{"call":"once","unknown":true,"ignore":true},{"error":"x"}]}`, "orphan", nil, ""},
		{"not asked for", `{"call":"once","ignore":true}`, "unknown", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var once, keyed, flaky counter
			b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil), downOnce(&flaky, host.Contract{Effect: host.Keyed, Tries: 1}),
				once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, errors.New("lost") }))
			b.deploy(folder(t, "", "tools = [\"keyed\", \"once\", \"flaky\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
			b.crashAt(row.cut)
			b.reopen()
			w, err := b.engine.Workflow("test")
			if err != nil {
				t.Fatal(err)
			}
			r := b.start(w, "r1", `{"one":[`+row.program+`]}`)
			if row.cut != nil {
				b.crashed(r)
				b.crashAt(nil)
				b.reopen()
			}
			c := b.rest(b.find("r1"))
			checkDocument(t, c)
			code := string(c.State)
			if len(c.Reasons) > 0 {
				code = c.Reasons[0].Code
			}
			if code != row.state || once.sent.Load() != 1 || !strings.Contains(string(c.Output()), row.says) {
				t.Fatalf("%s: %+v, sent %d times, output %s", code, c.Reasons, once.sent.Load(), c.Output())
			}
			switch row.state {
			case "completed":
				if call := c.Step("one").Calls[0]; call.Outcome != "unknown" || call.Status != "unknown" || call.Receipt == nil {
					t.Errorf("call %+v", call)
				}
			case "orphan":
				if len(c.Orphans) != 1 || c.Orphans[0].Outcome != "unknown" || !strings.Contains(c.Reasons[0].Sentence, "may have happened") {
					t.Errorf("orphans %+v, %s", c.Orphans, c.Reasons[0].Sentence)
				}
			}
		})
	}
}
