package runtime_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

func TestAttemptsOfAStepAreSpentForEver(t *testing.T) {
	t.Parallel()
	var read counter
	tool := read.tool("read", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) { return nil, errors.New("503") })
	b := setup(t, tool)
	w := b.deploy(folder(t, "", "tools = [\"read\"]\nretry = { attempts = 3, backoff = \"1ms\", max_backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"}]}`)
	b.rest(r)
	for range 3 {
		b.reopen()
		r = b.find("r1")
		if err := r.Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
			t.Errorf("resume: %v", err)
		}
	}
	if c := b.rest(r); c.State != pawl.StateFailed || c.Budgets.Attempts.Used != 3 || read.sent.Load() != 3 {
		t.Errorf("state %s, %d attempts, sent %d times", c.State, c.Budgets.Attempts.Used, read.sent.Load())
	}
}

func TestTheSmallerOfTwoAttemptLimitsStops(t *testing.T) {
	t.Parallel()
	var read counter
	b := setup(t, read.tool("read", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) { return nil, errors.New("503") }))
	w := b.deploy(folder(t, "[budget]\nattempts = 2", "tools = [\"read\"]\nretry = { attempts = 5, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"}]}`)
	if c := b.rest(r); c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "budget" || c.LastError == nil || read.sent.Load() != 2 {
		t.Errorf("state %s, sent %d times", c.State, read.sent.Load())
	}
	if err := r.Resume(); !errors.Is(err, pawl.ErrBudgetSpent) || !strings.Contains(err.Error(), "attempts 2 of 2") {
		t.Errorf("resume: %v", err)
	}
}

func TestRunParksBeforeAStepItHasNoAttemptFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	b.reopen()
	w := b.deploy(folder(t, "[budget]\nattempts = 1", "", ""))
	r := b.start(w, "r1", `{"one":[],"two":[]}`)
	c := b.rest(r)
	if c.State != pawl.StateNeedsDecision || c.ResumeFrom != "two" || c.Step("two").Attempts != 0 {
		t.Errorf("state %s, resume from %s", c.State, c.ResumeFrom)
	}
	if err := r.Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
		t.Errorf("resume: %v", err)
	}
}

func TestUnitsReadFromAnswersStopTheRunBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	b := setup(t, quickTool("charged", host.Read, []string{"tokens"}))
	w := b.deploy(folder(t, "[budget]\nunits = { tokens = 5 }", `tools = ["charged"]`))
	r := b.start(w, "r1", `{"one":[{"call":"charged"},{"call":"charged"},{"call":"charged"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateNeedsDecision || c.Budgets.Units["tokens"].Used != 6 || c.Budgets.Calls.Used != 2 {
		t.Errorf("state %s, %+v", c.State, c.Budgets)
	}
}

func TestRefusedCallsAreCharged(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", "tools = [\"keyed\"]\nlimits = { calls = 2 }"))
	r := b.start(w, "r1", `{"one":[{"call":"read","ignore":true},{"call":"keyed"},{"call":"keyed","ignore":true}]}`)
	c := b.rest(r)
	if c.State != pawl.StateCompleted || c.Budgets.Calls.Used != 3 || keyed.sent.Load() != 1 {
		t.Fatalf("state %s %+v, %d calls, sent %d times", c.State, c.Reasons, c.Budgets.Calls.Used, keyed.sent.Load())
	}
	calls := c.Step("one").Calls
	if calls[0].Status != "denied" || calls[2].Status != "budget" {
		t.Errorf("told %s and %s", calls[0].Status, calls[2].Status)
	}
}

func TestDeadlineIsAbsolute(t *testing.T) {
	t.Parallel()
	var read counter
	b := setup(t, read.tool("read", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) { return nil, errors.New("503") }))
	w := b.deploy(folder(t, "deadline = \"10ms\"", "tools = [\"read\"]\nretry = { attempts = 9, backoff = \"20ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"}]}`)
	c := b.rest(r)
	if c.Budgets.Deadline == nil || read.sent.Load() > 1 {
		t.Fatalf("deadline %v, sent %d times", c.Budgets.Deadline, read.sent.Load())
	}
	b.reopen()
	again := b.rest(b.find("r1"))
	if !again.Budgets.Deadline.Equal(*c.Budgets.Deadline) {
		t.Errorf("the deadline moved from %s to %s", c.Budgets.Deadline, again.Budgets.Deadline)
	}
}
