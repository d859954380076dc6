package runtime_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The first attempt falls back to another tool; on the second the first tool
// works, so the step goes another way than its journal. Until completed
// receipts can be claimed, the run stops there and sends nothing more.
func TestAttemptThatGoesAnotherWayStops(t *testing.T) {
	t.Parallel()
	var flaky, keyed, once counter
	b := setup(t,
		flaky.tool("flaky", host.Contract{Effect: host.Once}, func(n int64, _ *host.Call) (any, error) {
			if n == 1 {
				return nil, host.NotApplied(errors.New("no"))
			}
			return n, nil
		}),
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, host.NotApplied(errors.New("no")) }))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"keyed\", \"once\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"flaky","ignore":true,"else":[{"call":"keyed"}]},{"call":"once"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "diverged" {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	for _, want := range []string{"call 1", "expected keyed", "got once", "nothing was sent"} {
		if !strings.Contains(c.Reasons[0].Sentence, want) {
			t.Errorf("%q does not say %q", c.Reasons[0].Sentence, want)
		}
	}
	if flaky.sent.Load() != 2 || keyed.sent.Load() != 1 || once.sent.Load() != 1 {
		t.Errorf("sent %d, %d, %d", flaky.sent.Load(), keyed.sent.Load(), once.sent.Load())
	}
	checkDocument(t, c)
}

// A step that ends without a completed write of an earlier attempt leaves an
// orphan behind.
func TestAttemptThatLeavesACompletedWriteBehindStops(t *testing.T) {
	t.Parallel()
	var flaky, keyed counter
	b := setup(t,
		flaky.tool("flaky", host.Contract{Effect: host.Once}, func(n int64, _ *host.Call) (any, error) {
			if n == 1 {
				return nil, host.NotApplied(errors.New("no"))
			}
			return n, nil
		}),
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"keyed\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"flaky","ignore":true,"else":[{"call":"keyed"},{"error":"try again"}]}]}`)
	c := b.rest(r)
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "diverged" || keyed.sent.Load() != 1 {
		t.Errorf("state %s: %+v, sent %d", c.State, c.Reasons, keyed.sent.Load())
	}
}

func TestNotReadyYetReadsAgain(t *testing.T) {
	t.Parallel()
	var keyed, read counter
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		read.tool("read", host.Contract{Effect: host.Read}, nil))
	w := b.deploy(folder(t, "", "tools = [\"read\", \"keyed\"]\nretry = { attempts = 2, backoff = \"1ms\", max_backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"},{"call":"keyed"},{"call":"read","request":{"again":1}},{"not_yet":"still open"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateFailed || c.Step("one").Attempts != 2 {
		t.Fatalf("state %s, %d attempts", c.State, c.Step("one").Attempts)
	}
	if keyed.sent.Load() != 1 || read.sent.Load() != 3 {
		t.Errorf("keyed sent %d times, read %d", keyed.sent.Load(), read.sent.Load())
	}
}

// What a step sees of chance is the same in every execution of its attempt,
// and different in another run.
func TestChanceIsTheSameInAReplay(t *testing.T) {
	t.Parallel()
	var keyed, flaky counter
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		flaky.tool("flaky", host.Contract{Effect: host.Read}, func(n int64, _ *host.Call) (any, error) {
			if n%3 != 0 {
				return nil, errors.New("no")
			}
			return nil, nil
		}))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"keyed\"]\nretry = { attempts = 5, backoff = \"1ms\" }"))
	const input = `{"one":[{"chance":"keyed"},{"call":"flaky"}]}`
	first := b.rest(b.start(w, "r1", input))
	if first.State != pawl.StateCompleted || first.Step("one").Attempts != 3 || keyed.sent.Load() != 1 {
		t.Fatalf("state %s %+v, sent %d times", first.State, first.Reasons, keyed.sent.Load())
	}
	second := b.rest(b.start(w, "r2", input))
	if first.Step("one").Calls[0].RequestHash == second.Step("one").Calls[0].RequestHash {
		t.Error("two runs were given the same chance")
	}
}
