package runtime_test

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A step that left an effect of an earlier attempt behind goes on with code
// that comes to it, which sends nothing again; with code that does not it is
// where it was.
//
// Seen red with a run that stays parked.
func TestOrphanIsClaimedByMendedCode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, mended, state string }{
		{"code that comes to it", `{"call":"flaky","ignore":true},{"call":"keyed"}`, "completed"},
		{"code that does not", `{"call":"flaky"}`, "needs_decision"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var keyed, flaky counter
			b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil), downOnce(&flaky, host.Contract{Effect: host.Keyed, Tries: 1}))
			text := "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 3, backoff = \"1ms\" }"
			r := b.start(b.deploy(folder(t, "", text)), "r1",
				`{"one":[{"call":"flaky","ignore":true,"else":[{"call":"keyed"},{"error":"x"}]}],"two":[`+row.mended+`]}`)
			if c := b.rest(r); c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "orphan" {
				t.Fatalf("%s: %+v", c.State, c.Reasons)
			}
			f := folder(t, "", text)
			f["workflow.toml"].Data = []byte(strings.Replace(string(f["workflow.toml"].Data), "input.one", "input.two", 1))
			if err := r.Upgrade(t.Context(), b.deploy(f)); err != nil {
				t.Fatal(err)
			}
			c := b.resume("r1")
			if string(c.State) != row.state || keyed.sent.Load() != 1 || c.Budgets.Recoveries.Used != 0 || c.Step("one").Attempts != 2 {
				t.Errorf("%s: %+v, sent %d times, %+v", c.State, c.Reasons, keyed.sent.Load(), c.Budgets)
			}
		})
	}
}
