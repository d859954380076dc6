package runtime_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// waiting is a run that waits an hour for its second attempt.
func waiting(t *testing.T, b *bundle) *pawl.Run {
	t.Helper()
	w := b.deploy(folder(t, "", "tools = [\"flaky\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"1h\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"flaky"}]}`)
	if c := b.wait(r, time.Minute); c.State != pawl.StateWaiting {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	return r
}

func downOnce(c *counter, contract host.Contract) host.Tool {
	return c.tool("flaky", contract, func(n int64, _ *host.Call) (any, error) {
		if n == 1 {
			return nil, host.NotApplied(errors.New("down"))
		}
		return "up", nil
	})
}

func TestRunWithAMissingToolIsRefusedBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	var flaky, other counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	b.reopen(other.tool("read", host.Contract{Effect: host.Read}, nil))
	r := b.find("r1")
	var incompatible *pawl.IncompatibleError
	if err := r.Resume(); !errors.As(err, &incompatible) || !errors.Is(err, pawl.ErrIncompatible) {
		t.Fatalf("resume: %v", err)
	}
	if d := incompatible.Differences; len(d) != 1 || d[0].Pin != "tool flaky" || !strings.Contains(d[0].What, "missing") {
		t.Errorf("differences %+v", d)
	}
	c, err := r.Checkpoint()
	if err != nil || c.State != pawl.StateIncompatible || len(c.Differences) != 1 {
		t.Errorf("checkpoint: %+v, %v", c, err)
	}
	if flaky.sent.Load() != 1 {
		t.Errorf("sent %d times", flaky.sent.Load())
	}
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pawl.Start(t.Context(), w, "r2", json.RawMessage(`{"one":[]}`), nil); !errors.As(err, &incompatible) {
		t.Errorf("start: %v", err)
	}
	if _, err := b.engine.Find("r2"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("a refused start left something: %v", err)
	}
}

func TestChangedContractIsRefusedNamingEachDifference(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	b.reopen(downOnce(&flaky, host.Contract{Effect: host.Once, Tries: 7}))
	var incompatible *pawl.IncompatibleError
	if err := b.find("r1").Resume(); !errors.As(err, &incompatible) {
		t.Fatalf("resume: %v", err)
	}
	if len(incompatible.Differences) != 2 {
		t.Errorf("differences %+v", incompatible.Differences)
	}
	text := incompatible.Error()
	for _, want := range []string{"tool flaky", "once", "read", "7"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}

func TestSettingsThatAreNoIdentityMayChange(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	waiting(t, b)
	b.opts.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.opts.Workers, b.opts.NoRecovery, b.opts.Grace = 1, true, time.Second
	b.reopen(downOnce(&flaky, host.Contract{Effect: host.Read, Help: "ask the people on call"}))
	r := b.find("r1")
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if c := b.rest(r); c.State != pawl.StateCompleted {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
}

func TestRunKeepsItsCodeWhenAnotherIsDeployed(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	r := waiting(t, b)
	before, err := r.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	newer := b.deploy(folder(t, "title = \"newer\"", "tools = [\"flaky\"]", ""))
	if newer.Digest() == before.Workflow.Digest {
		t.Fatal("another content has the same digest")
	}
	b.reopen()
	r = b.find("r1")
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	c := b.rest(r)
	if c.State != pawl.StateCompleted || c.Workflow.Digest != before.Workflow.Digest || len(c.Steps) != 1 {
		t.Errorf("state %s, workflow %+v", c.State, c.Workflow)
	}
}

func TestEveryOptionLeftOutWorks(t *testing.T) {
	t.Parallel()
	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	engine, err := pawl.Open(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	w, err := engine.Deploy(t.Context(), folder(t, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pawl.Start(t.Context(), w, "", json.RawMessage(`{"one":[{"log":"hello"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := pawl.Await[[]any](t.Context(), r); err != nil || len(out) != 0 {
		t.Errorf("%v, %v", out, err)
	}
}
