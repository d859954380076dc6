package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

// On a store that other processes use too lists are read anew, and know all the
// same of a run that it cannot be read. Completed runs are counted for a label
// that many have.
//
// Seen red with what is known forgotten when the list is read anew, and with
// labels of more than 500 runs left out.
func TestListsOfASharedStore(t *testing.T) {
	t.Parallel()
	store, err := kvtest.NewDisk(&kvtest.DiskOptions{Shared: true}).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := runtimetest.Fill(t.Context(), store, 1104); err != nil {
		t.Fatal(err)
	}
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{NoRecovery: true, CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	bad := all(t, engine, pawl.Query{State: pawl.StateFailed})[0]
	commit(t, chain(t, store, []byte("r/"+bad.Run+"/")).Append([]byte("hello"), nil))
	eu := pawl.Query{Label: "region", Value: bad.Labels["region"]}
	all(t, engine, eu) // finds out
	page, err := engine.List(&eu)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, c := range page.Counts {
		counts[string(c.State)+" "+c.Reason] = c.Runs
	}
	want := map[string]int{" unreadable": 1, "failed wrong_address": 91, "needs_decision unknown": 92, "needs_decision budget": 92, "completed ": 276}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	if runs := all(t, engine, pawl.Query{Reason: "unreadable"}); len(runs) != 1 || runs[0].Run != bad.Run {
		t.Errorf("%+v", runs)
	}
}
