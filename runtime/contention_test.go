package runtime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A change of a value that meets one of another engine is made again on what
// is there then: exactly once, and as if nothing had stood in its way.
//
// Seen red with a run that is given up for it, and with a re-entry that is charged.
func TestChangeThatMeetsAnotherEngines(t *testing.T) {
	t.Parallel()
	disk := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true})
	var workflows []*pawl.Workflow
	for range 2 {
		store, err := disk.Open()
		if err != nil {
			t.Fatal(err)
		}
		engine, err := pawl.Open(t.Context(), store, &pawl.Options{CacheDir: cacheDir(), NoRecovery: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(engine.Check(), engine.Close(), store.Close()); err != nil {
				t.Error(err)
			}
		})
		w, err := engine.Deploy(t.Context(), folder(t, "", insideGrants))
		if err != nil {
			t.Fatal(err)
		}
		workflows = append(workflows, w)
	}
	run := func(w *pawl.Workflow, id string) *pawl.Checkpoint {
		input := `{"one":[` + op("kv.put", `{"scope":"workflow","key":"a","value":"`+id+`","absent":true}`) + `]}`
		r, err := pawl.Start(t.Context(), w, id, raw(input), nil)
		if err != nil {
			t.Error(err)
			return nil
		}
		c, err := r.Wait(t.Context(), time.Hour)
		if err != nil {
			t.Error(err)
		}
		return c
	}
	// The second commit of the first run is its change.
	disk.At(2, kvtest.Asked, func() error {
		if c := run(workflows[1], "r2"); c == nil || c.State != pawl.StateCompleted {
			t.Errorf("the one that was faster: %+v", c)
		}
		return nil
	})
	c := run(workflows[0], "r1")
	if c == nil || c.State != pawl.StateFailed || c.LastError.Code != "conflict" || c.Budgets.Recoveries.Used != 0 || c.Budgets.Calls.Used != 1 {
		t.Errorf("the one that was late: %+v", c)
	}
}
