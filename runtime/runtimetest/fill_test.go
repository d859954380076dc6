package runtimetest_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A filled store is sound, and its runs are what they are said to be, whether
// the engine recovers or not; the workflow can be executed.
//
// Seen red with a run of another digest, and with attempts that are left open.
func TestFilledStore(t *testing.T) {
	t.Parallel()
	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := runtimetest.Fill(t.Context(), store, 120); err != nil {
		t.Fatal(err)
	}
	tools, err := host.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, noRecovery := range []bool{true, false} {
		engine, err := runtime.Open(t.Context(), store, &runtime.Options{Tools: tools, NoRecovery: noRecovery, CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		page, err := engine.List(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, c := range page.Counts {
			got[string(c.State)+" "+c.Reason] = c.Runs
		}
		want := map[string]int{
			"completed ": 60, "failed wrong_address": 10, "waiting timer": 10, "needs_decision unknown": 10,
			"waiting tool_paused": 10, "needs_decision budget": 10, "incompatible incompatible": 10,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if page, err := engine.List(&runtime.Query{Label: "order", Value: "W000007"}); err != nil || len(page.Items) != 1 || page.Items[0].ExternalID != "order-000007" {
			t.Errorf("%+v, %v", page, err)
		}
		if err := engine.Check(); err != nil {
			t.Error(err)
		}
		if noRecovery {
			if err := engine.Close(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		execute(t, engine)
	}
}

func execute(t *testing.T, engine *runtime.Engine) {
	t.Helper()
	w, err := engine.Workflow(runtimetest.Workflow)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := runtime.Start(ctx, w, "", json.RawMessage(`{"order":"W1"}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := run.Wait(ctx, 0); err != nil || c.State != runtime.StateCompleted {
		t.Errorf("%+v, %v", c, err)
	}
}
