package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A spent budget of the run parks it before the next sending, and neither a
// resume nor a restart sends anything more. The step never sees it.
//
// Seen red with the check left out of intents, of further tries and of
// refusals, with budgets that the workflow names and the run does not get, and
// with a parked run that goes on. (Deadline and active time are looked at twice,
// before a call and while the guest runs; either alone parks these runs.)
func TestSpentBudgetSendsNothingMore(t *testing.T) {
	long(t)
	t.Parallel()
	var sent counter
	down := func(int64, *host.Call) (any, error) { return nil, errors.New("down") }
	late := func(context.Context, *host.Call, any) (any, error) {
		time.Sleep(500 * time.Millisecond)
		return "late", nil
	}
	b := setup(t,
		sent.tool("read", host.Contract{Effect: host.Read}, nil),
		sent.tool("flaky", host.Contract{Effect: host.Read, Tries: 5, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}, down),
		host.Func("asked", late, &host.FuncOptions{Contract: host.Contract{Effect: host.Read}}),
		quickTool("charged", host.Read, []string{"tokens"}))
	rows := []struct {
		id, budget, program string
		reason              string
		sent                int64
	}{
		{"calls", "[budget]\ncalls = 2", `[{"call":"read"},{"call":"read"},{"call":"read","ignore":true}]`, "budget", 2},
		{"tries-of-a-call", "[budget]\ncalls = 2", `[{"call":"flaky","ignore":true}]`, "budget", 2},
		{"refused-calls", "[budget]\ncalls = 2", `[{"call":"once","ignore":true},{"call":"once","ignore":true},{"call":"once","ignore":true}]`, "budget", 0},
		{"units", "[budget]\nunits = { tokens = 3 }", `[{"call":"charged"},{"call":"charged","ignore":true}]`, "budget", 0},
		{"active-time", "[budget]\nactive_time = \"400ms\"", `[{"call":"asked"},{"call":"read","ignore":true}]`, "budget", 0},
		{"the-deadline", "deadline = \"400ms\"", `[{"call":"asked"},{"call":"read","ignore":true}]`, "deadline", 0},
	}
	spent := func(id, reason string) {
		t.Helper()
		c := b.rest(b.find(id))
		checkDocument(t, c)
		if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != reason || c.LastError != nil || c.Step("one").Attempts != 1 {
			t.Errorf("%s: state %s: %+v, last error %+v", id, c.State, c.Reasons, c.LastError)
		}
		if err := b.find(id).Resume(); !errors.Is(err, pawl.ErrBudgetSpent) {
			t.Errorf("%s: resume: %v", id, err)
		}
	}
	for _, row := range rows {
		w := b.deploy(folder(t, row.budget, "tools = [\"read\", \"flaky\", \"asked\", \"charged\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
		before := sent.sent.Load()
		b.start(w, row.id, `{"one":`+row.program+`}`)
		spent(row.id, row.reason)
		if n := sent.sent.Load() - before; n != row.sent {
			t.Errorf("%s: sent %d times, want %d", row.id, n, row.sent)
		}
	}
	before := sent.sent.Load()
	b.reopen()
	for _, row := range rows {
		spent(row.id, row.reason)
	}
	if sent.sent.Load() != before {
		t.Error("something was sent after a restart")
	}
}

// The next attempt is not begun after the deadline.
//
// Seen red with an attempt that is begun whatever the time.
func TestDeadlineDuringABackoffParks(t *testing.T) {
	t.Parallel()
	// On a slow machine the first attempt can outlast a short deadline.
	for deadline := 500 * time.Millisecond; deadline < time.Minute; deadline *= 4 {
		var flaky counter
		b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
		w := b.deploy(folder(t, fmt.Sprintf("deadline = %q", deadline),
			fmt.Sprintf("tools = [\"flaky\"]\nretry = { attempts = 3, backoff = %q, max_backoff = \"1m\" }", deadline+time.Millisecond)))
		c := b.rest(b.start(w, "r1", `{"one":[{"call":"flaky"}]}`))
		if c.State == pawl.StateFailed {
			continue
		}
		checkDocument(t, c)
		if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "deadline" || flaky.sent.Load() != 1 || c.Budgets.Attempts.Used != 1 {
			t.Errorf("state %s: %+v, sent %d times", c.State, c.Reasons, flaky.sent.Load())
		}
		return
	}
	t.Fatal("the first attempt outlasted every deadline")
}

// Active time adds up over processes, and does not run while the run waits.
//
// Seen red with time that is not recorded, and with a clock that goes on while
// the run waits.
func TestActiveTimeAddsUpOverProcesses(t *testing.T) {
	t.Parallel()
	const works, waits = 30 * time.Millisecond, 1500 * time.Millisecond
	var flaky counter
	b := setup(t, flaky.tool("flaky", host.Contract{Effect: host.Read}, func(n int64, _ *host.Call) (any, error) {
		time.Sleep(works)
		if n < 3 {
			return nil, host.NotApplied(errors.New("down"))
		}
		return n, nil
	}))
	w := b.deploy(folder(t, "", "tools = [\"flaky\"]\nretry = { attempts = 3, backoff = \"1s\", max_backoff = \"1s\" }"))
	begun := time.Now()
	r := b.start(w, "r1", `{"one":[{"call":"flaky"}]}`)
	b.wait(r, 0) // the second attempt may be that of another process
	b.reopen()
	r = b.find("r1")
	c := b.rest(r)
	completed(t, c)
	took := time.Since(begun).Milliseconds()
	active := c.Budgets.ActiveMS.Used
	if least := 3 * works.Milliseconds(); active < least || active > took-waits.Milliseconds() {
		t.Errorf("active for %d ms of %d", active, took)
	}
}
