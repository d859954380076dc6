package runtime_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A run that loses its power anywhere and goes on is charged for exactly the
// work that its steps take from beginning to end, however often they are
// entered.
//
// Seen red with a re-entry that is charged from its beginning.
func TestWorkOfAResumedRunIsThatOfOneExecution(t *testing.T) {
	t.Parallel()
	const input = `{"one":[{"rounds":1000},{"call":"keyed"},{"rounds":200000},{"call":"read"},{"rounds":50}],"two":[{"call":"keyed"},{"rounds":5000}]}`
	for _, kind := range []pawl.EventKind{
		pawl.Begun, pawl.BeforeIntent, pawl.IntentDurable, pawl.Sent, pawl.Answered, pawl.ReceiptDurable, pawl.Returned,
	} {
		for nth := range 2 {
			t.Run(fmt.Sprintf("%v %d", kind, nth), func(t *testing.T) {
				t.Parallel()
				_, _, tools := keyedAndRead()
				b := setup(t, tools...)
				w := b.deploy(folder(t, "", `tools = ["keyed", "read"]`, `tools = ["keyed", "read"]`))
				seen := 0
				b.crashAt(func(e pawl.Event) bool {
					if e.Kind == kind {
						seen++
					}
					return seen == nth+1
				})
				b.reopen()
				w, err := b.engine.Workflow(w.Name())
				if err != nil {
					t.Fatal(err)
				}
				r := b.start(w, "r1", input)
				b.crashed(r)
				b.crashAt(nil)
				b.reopen()
				b.rest(b.find("r1"))
				c := b.document("r1")
				if c.State != pawl.StateCompleted || c.Budgets.Recoveries.Used != 1 {
					t.Fatalf("state %s: %+v, %+v", c.State, c.Reasons, c.Budgets)
				}
				want, err := b.engine.Recount(t.Context(), c.Run)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Budgets.Work.Used; got != want || want < 206_050 {
					t.Errorf("charged %d, one execution takes %d", got, want)
				}
			})
		}
	}
}

// A step sends mail, then computes past its limit: the mail is listed as done,
// no attempt is burnt, and what stops the run is named.
//
// Seen red without the limit (it never ended).
func TestStepThatComputesPastItsLimitFailsAtOnce(t *testing.T) {
	t.Parallel()
	var once counter
	b := setup(t, once.tool("once", host.Contract{}, nil))
	w := b.deploy(folder(t, "", "tools = [\"once\"]\nretry = { attempts = 3, backoff = \"1ms\" }\nlimits = { work = 20_000_000 }"))
	b.rest(b.start(w, "r1", `{"one":[{"call":"once"},{"loop":true}]}`))
	c := b.document("r1")
	if c.State != pawl.StateFailed || c.LastError.Code != "work_limit" || c.LastError.Kind != "deterministic" ||
		!strings.Contains(c.Reasons[0].Sentence, "limit of 20000000 units of work (limits.work)") {
		t.Errorf("state %s: %+v, %+v", c.State, c.Reasons, c.LastError)
	}
	step := c.Step("one")
	if once.sent.Load() != 1 || step.Attempts != 1 || len(step.Calls) != 1 || step.Calls[0].Outcome != "applied" {
		t.Errorf("sent %d times, %+v", once.sent.Load(), step)
	}
	if used := c.Budgets.Work.Used; used != 20_000_000 {
		t.Errorf("charged %d", used)
	}
	if err := b.find("r1").Resume(); !errors.Is(err, pawl.ErrDeterministic) {
		t.Errorf("resume: %v", err)
	}
}

// A run's budget of work parks it, in the step that spends it; the step never
// sees it.
//
// Seen red with the budget taken for the step's own limit, and with what was
// spent before the step left out.
func TestSpentBudgetOfWorkParks(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	one := `tools = ["keyed"]` + "\nlimits = { work = 90_000_000 }"
	for id, row := range map[string]struct {
		input string
		step  string
	}{
		"in-a-loop":      {`{"one":[{"call":"keyed"},{"loop":true}],"two":[]}`, "one"},
		"in-a-next-step": {`{"one":[{"call":"keyed"},{"rounds":2000000}],"two":[{"loop":true}]}`, "two"},
	} {
		w := b.deploy(folder(t, "[budget]\nwork = 40_000_000", one, `tools = ["keyed"]`))
		b.rest(b.start(w, id, row.input))
		c := b.document(id)
		if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "budget" || c.Reasons[0].Step != row.step ||
			!strings.Contains(c.Reasons[0].Sentence, "work 40000000 of 40000000") || c.LastError != nil {
			t.Errorf("%s: state %s: %+v, %+v", id, c.State, c.Reasons, c.LastError)
		}
		if work := c.Budgets.Work; work.Used != 40_000_000 || work.Limit == nil || *work.Limit != 40_000_000 {
			t.Errorf("%s: %+v", id, work)
		}
		if err := b.find(id).Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
			t.Errorf("%s: resume: %v", id, err)
		}
	}
	if n := keyed.sent.Load(); n != 2 {
		t.Errorf("sent %d times", n)
	}
}
