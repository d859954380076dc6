package runtime_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

func TestRunOfTwoStepsCompletes(t *testing.T) {
	t.Parallel()
	var read, keyed counter
	b := setup(t, read.tool("read", host.Contract{Effect: host.Read}, nil), keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["read", "keyed"]`, `tools = ["keyed"]`))
	r := b.start(w, "r1", `{"one":[{"call":"read"},{"call":"keyed","request":{"x":1}}],"two":[{"call":"keyed","request":{"x":1}},{"call":"keyed","request":{"x":1}}]}`)
	c := b.rest(r)
	if c.State != pawl.StateCompleted {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	if got, want := string(c.Output()), `[{"n":2},{"n":3}]`; got != want {
		t.Errorf("output %s, want %s", got, want)
	}
	if n := keyed.distinctKeys(); n != 3 {
		t.Errorf("%d keys for three rightful effects, two of them equal", n)
	}
	out, err := pawl.Await[[]map[string]int](t.Context(), r)
	if err != nil || len(out) != 2 {
		t.Errorf("Await: %v, %v", out, err)
	}
}

func TestFailureWithNothingToRepeatBurnsNoAttempts(t *testing.T) {
	t.Parallel()
	var read counter
	b := setup(t, read.tool("read", host.Contract{Effect: host.Read}, nil))
	w := b.deploy(folder(t, "", "tools = [\"read\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"},{"error":"always"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateFailed || c.Step("one").Attempts != 1 || c.LastError.Kind != "deterministic" {
		t.Fatalf("state %s, %d attempts, last error %+v", c.State, c.Step("one").Attempts, c.LastError)
	}
	if err := r.Resume(); !errors.Is(err, pawl.ErrDeterministic) {
		t.Errorf("resume: %v", err)
	}
	if _, err := pawl.Await[any](t.Context(), r); !errors.Is(err, pawl.ErrFailed) {
		t.Errorf("Await: %v", err)
	}
}

func TestRetryRepeatsOnlyWhatFailed(t *testing.T) {
	t.Parallel()
	var keyed, flaky counter
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		flaky.tool("flaky", host.Contract{Effect: host.Once}, func(n int64, _ *host.Call) (any, error) {
			if n == 1 {
				return nil, host.NotApplied(errors.New("refused"))
			}
			return "sent", nil
		}))
	w := b.deploy(folder(t, "", "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"keyed"},{"call":"flaky"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateCompleted || c.Step("one").Attempts != 2 {
		t.Fatalf("state %s, %+v, last error %+v", c.State, c.Reasons, c.LastError)
	}
	if keyed.sent.Load() != 1 || flaky.sent.Load() != 2 {
		t.Errorf("keyed was sent %d times, flaky %d", keyed.sent.Load(), flaky.sent.Load())
	}
	if string(c.Output()) != `[{"n":1},"sent"]` {
		t.Errorf("output %s", c.Output())
	}
}

func TestStartIsIdempotentByExternalID(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	const input = `{"one":[{"call":"keyed"}]}`
	first := b.start(w, "r1", input)
	b.rest(first)
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	again := b.start(w, "r1", "{\"one\": [ {\"call\":\"keyed\"} ] }")
	if again.ID() != first.ID() {
		t.Errorf("the same start made another run")
	}
	if _, err := pawl.Start(t.Context(), w, "r1", json.RawMessage(`{"one":[]}`), nil); !errors.Is(err, pawl.ErrInputConflict) {
		t.Errorf("another input under the same id: %v", err)
	}
	if keyed.sent.Load() != 1 {
		t.Errorf("sent %d times", keyed.sent.Load())
	}
}

func TestUnknownOutcomeOfOnceParks(t *testing.T) {
	t.Parallel()
	var once counter
	b := setup(t, once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) {
		return nil, errors.New("connection lost")
	}))
	w := b.deploy(folder(t, "", "tools = [\"once\"]\nretry = { attempts = 3, backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"once"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" || c.Step("one").Calls[0].Outcome != "unknown" {
		t.Fatalf("state %s, reasons %+v", c.State, c.Reasons)
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	c = b.rest(r)
	if c.State != pawl.StateNeedsDecision || once.sent.Load() != 1 || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("after a resume: state %s, sent %d times, %d recoveries", c.State, once.sent.Load(), c.Budgets.Recoveries.Used)
	}
}

func TestRunWaitsForTheNextAttemptAcrossEngines(t *testing.T) {
	t.Parallel()
	var flaky counter
	down := true
	b := setup(t, flaky.tool("flaky", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) {
		if down {
			return nil, host.NotApplied(errors.New("down"))
		}
		return 1, nil
	}))
	w := b.deploy(folder(t, "", "tools = [\"flaky\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"2h\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"flaky"}]}`)
	c := b.wait(r, time.Minute)
	if c.State != pawl.StateWaiting || c.Reasons[0].Waker != "timer" {
		t.Fatalf("state %s, reasons %+v", c.State, c.Reasons)
	}
	b.reopen()
	down = false
	r = b.find("r1")
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if c := b.rest(r); c.State != pawl.StateCompleted || c.Budgets.Attempts.Used != 2 || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("state %s, %+v", c.State, c.Budgets)
	}
}
