package runtime_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

// filled is a store with n runs that nothing executed, and an engine that
// executes nothing.
func filled(t *testing.T, n int) *bundle {
	t.Helper()
	b := setup(t)
	b.close()
	b.opts.NoRecovery = true
	store, err := kv.Open(b.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(runtimetest.Fill(t.Context(), store, n), store.Close()); err != nil {
		t.Fatal(err)
	}
	b.open()
	return b
}

func ids(runs []pawl.Summary) []string {
	ids := []string{}
	for _, r := range runs {
		ids = append(ids, r.ExternalID)
	}
	return ids
}

// stuck reports whether a run does not go on by itself.
func stuck(r *pawl.Summary) bool {
	switch r.State {
	case pawl.StateRunning, pawl.StateQueued, pawl.StateCompleted:
		return false
	case pawl.StateWaiting:
		return r.Reasons[0].Waker == "operator"
	}
	return true
}

// First come the runs that do not go on by themselves, then the others that are
// open, each newest first, then those that ended, the last ended first. Every
// run is on one page, whatever the size of the pages.
//
// Seen red with waits for a person among those that go on, with runs in the
// other order, with a page that repeats its last run, and with ended runs by
// their start.
func TestListIsInOrder(t *testing.T) {
	long(t)
	t.Parallel()
	b := filled(t, 200)
	runs := all(t, b.engine, pawl.Query{})
	part := func(r *pawl.Summary) int {
		switch {
		case stuck(r):
			return 0
		case r.State == pawl.StateCompleted:
			return 2
		}
		return 1
	}
	parts := [3]int{}
	for i := range runs {
		r := &runs[i]
		parts[part(r)]++
		if i == 0 {
			continue
		}
		before := &runs[i-1]
		switch {
		case part(before) > part(r):
			t.Errorf("%s %s is behind %s %s", r.State, r.ExternalID, before.State, before.ExternalID)
		case part(before) == part(r) && part(r) < 2 && before.Run < r.Run:
			t.Errorf("%s is behind %s, which is older", r.Run, before.Run)
		case part(before) == part(r) && part(r) == 2 && before.Updated.Before(r.Updated):
			t.Errorf("%s ended at %v and is behind %s, which ended at %v", r.Run, r.Updated, before.Run, before.Updated)
		}
	}
	if parts != [3]int{83, 17, 100} {
		t.Errorf("%v runs", parts)
	}
	for _, limit := range []int{1, 7, 100, 200, 1000} {
		if again := all(t, b.engine, pawl.Query{Limit: limit}); !slices.Equal(ids(again), ids(runs)) {
			t.Errorf("other runs in pages of %d: %s", limit, cmp.Diff(ids(runs), ids(again)))
		}
	}
	if page, err := b.engine.List(nil); err != nil || len(page.Items) != 50 || page.Next == "" {
		t.Errorf("by default %d runs, %v", len(page.Items), err)
	}
	if page, err := b.engine.List(&pawl.Query{Limit: 200}); err != nil || len(page.Items) != 200 || page.Next != "" {
		t.Errorf("all on one page: %d runs, then %q, %v", len(page.Items), page.Next, err)
	}
}

// Whatever a query selects by, it finds the runs that going through all of them
// finds, page by page, also when a request may look at a few ended runs only,
// and when the list was written by a program that kept less in it.
//
// Seen red with each of the filters left out, with a page that ends where the
// looking does, and with old listings that are taken as they are.
func TestListSelects(t *testing.T) {
	long(t)
	t.Parallel()
	b := filled(t, 150)
	completed := pawl.Query{State: pawl.StateCompleted}
	queries := map[string]pawl.Query{
		"all": {}, "completed": completed, "a state": {State: pawl.StateNeedsDecision},
		"a reason": {Reason: "unknown"}, "a state and a reason": {State: pawl.StateWaiting, Reason: "timer"},
		"a reason of another state": {State: pawl.StateFailed, Reason: "timer"}, "incompatible": {State: pawl.StateIncompatible},
		"a workflow": {Workflow: runtimetest.Workflow}, "another workflow": {Workflow: "nothing"},
		"a label": {Label: "order", Value: "W000044"}, "a label of half": {Label: "region", Value: "us"},
		"a label and a state":   {Label: "region", Value: "eu", State: pawl.StateFailed},
		"a label and a text":    {Label: "region", Value: "eu", Text: "bäcker"},
		"a label that none has": {Label: "region", Value: "e"},
		"a text of titles":      {Text: "OF göran"}, "a text of ids": {Text: "er-00003"}, "a text that none has": {Text: "nowhere"},
		"a text in capitals": {Text: "FÁTIMA"},
	}
	check := func(t *testing.T) {
		t.Helper()
		everything := all(t, b.engine, pawl.Query{})
		if len(everything) != 150 {
			t.Errorf("%d runs", len(everything))
		}
		for name, q := range queries {
			var want []string
			counts := map[string]int{}
			for _, r := range everything {
				text := strings.ToLower(r.Title + "\n" + r.ExternalID + "\n" + r.Run)
				if q.Workflow != "" && r.Workflow.Name != q.Workflow || q.Label != "" && r.Labels[q.Label] != q.Value || !strings.Contains(text, strings.ToLower(q.Text)) {
					continue
				}
				reason := ""
				if len(r.Reasons) > 0 {
					reason = r.Reasons[0].Code
				}
				counts[string(r.State)+" "+reason]++
				if (q.State == "" || r.State == q.State) && (q.Reason == "" || reason == q.Reason) {
					want = append(want, r.ExternalID)
				}
			}
			for _, limit := range []int{3, 500} {
				q.Limit = limit
				if got := ids(all(t, b.engine, q)); !slices.Equal(got, want) {
					t.Errorf("%s, %d a page: %s", name, limit, cmp.Diff(want, got))
				}
			}
			page, err := b.engine.List(&q)
			if err != nil {
				t.Fatal(err)
			}
			counted := map[string]int{}
			for _, c := range page.Counts {
				counted[string(c.State)+" "+c.Reason] = c.Runs
			}
			if (q.Workflow != "" || q.Text != "") && q.Label == "" {
				delete(counts, "completed ") // does not come for free
			}
			if diff := cmp.Diff(counts, counted); diff != "" {
				t.Errorf("%s: counts %s", name, diff)
			}
		}
	}
	t.Run("as it is", check)
	b.engine.ScanAtMost(4)
	t.Run("with four looked at", check)
	b.age()
	t.Run("after an older program", check)
	if err := b.engine.Check(); err != nil {
		t.Error(err)
	}
}

// age makes the lists in the store those of a program that kept less in them.
func (b *bundle) age() {
	b.t.Helper()
	batch := new(kv.Batch)
	if err := b.store.View(func(v kv.View) error {
		for item, err := range v.Scan(kv.Range{Prefix: []byte("e/")}) {
			if err != nil {
				return err
			}
			batch.Set(item.Key, []byte{1})
		}
		for item, err := range v.Scan(kv.Range{Prefix: []byte("o/")}) {
			if err != nil {
				return err
			}
			var l map[int]any
			if err := cbor.Unmarshal(item.Value, &l); err != nil {
				return err
			}
			if maps.DeleteFunc(l, func(field int, _ any) bool { return field > 8 }); l[6] == "failed" {
				delete(l, 7)
			}
			value, err := cbor.Marshal(l)
			if err != nil {
				return err
			}
			batch.Set(item.Key, value)
		}
		return nil
	}); err != nil {
		b.t.Fatal(err)
	}
	commit(b.t, b.store.Commit(batch))
	b.reopen()
}

func TestCursorThatIsNone(t *testing.T) {
	t.Parallel()
	b := filled(t, 4)
	raw := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	const run = "01JQ0000000000000000000000"
	for name, cursor := range map[string]string{
		"no base64": "???", "no place": raw("x"), "another part": raw("d" + run), "no run": raw("a" + run[1:]),
		"an ended run without a time": raw("c" + run[8:]), "bytes": raw("a\xff\x00"), "too long": raw("b" + run + run),
	} {
		if page, err := b.engine.List(&pawl.Query{After: cursor}); !errors.Is(err, pawl.ErrInvalidInput) {
			t.Errorf("%s: %+v, %v", name, page, err)
		}
	}
	for _, cursor := range []string{raw("a" + run), raw("b" + run), raw("c12345678" + run)} {
		if _, err := b.engine.List(&pawl.Query{After: cursor}); err != nil {
			t.Errorf("%q: %v", cursor, err)
		}
	}
}

// While runs begin and end, those that stay as they are are on one page each,
// and at every moment each run is counted once.
//
// Seen red with runs that leave the open ones before their end is durable, and
// with ends that are not counted on.
func TestListWhileRunsMove(t *testing.T) {
	t.Parallel()
	var keyed counter
	b := setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	still := map[string]bool{}
	for i := range 12 {
		id := fmt.Sprintf("still-%d", i)
		still[id] = true
		if i%2 == 0 {
			b.rest(b.start(w, id, `{"one":[]}`))
		} else {
			b.rest(b.start(w, id, `{"one":[{"fail":"wrong"}]}`))
		}
	}
	var begun, asked atomic.Int64
	begun.Store(12)
	asked.Store(12)
	var starters sync.WaitGroup
	for i := range 4 {
		starters.Go(func() {
			for j := range 25 {
				asked.Add(1)
				r := b.start(w, fmt.Sprintf("moves-%d-%d", i, j), `{"one":[{"call":"keyed"}]}`)
				begun.Add(1)
				if j%5 == 0 {
					b.rest(r)
				}
			}
		})
	}
	ctx, done := context.WithCancel(t.Context())
	go func() { starters.Wait(); done() }()
	for ctx.Err() == nil {
		least := begun.Load()
		page, err := b.engine.List(&pawl.Query{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for _, c := range page.Counts {
			n += int64(c.Runs)
			if c.State == pawl.StateInterrupted {
				t.Errorf("%d runs are interrupted", c.Runs)
			}
		}
		if most := asked.Load(); n < least || n > most {
			t.Errorf("%d runs of %d to %d", n, least, most)
		}
		seen := map[string]int{}
		for _, r := range all(t, b.engine, pawl.Query{Limit: 3}) {
			seen[r.ExternalID]++
		}
		for id := range still {
			if seen[id] != 1 {
				t.Errorf("%s is on %d pages", id, seen[id])
			}
		}
	}
}

// A run that cannot be read is listed first, once that is known of it, with why,
// and does not keep the others from being listed.
//
// Seen red with runs that cannot be read left where they were.
func TestUnreadableRunIsListed(t *testing.T) {
	t.Parallel()
	b := filled(t, 24)
	b.damaged = true
	waiting := all(t, b.engine, pawl.Query{State: pawl.StateWaiting, Reason: "timer"})
	bad := waiting[0]
	commit(t, chain(t, b.store, []byte("r/"+bad.Run+"/")).Append([]byte("hello"), nil))
	if runs := all(t, b.engine, pawl.Query{}); len(runs) != 24 || runs[0].Run == bad.Run {
		t.Errorf("%d runs, the first is %+v", len(runs), runs[0])
	}
	for _, noRecovery := range []bool{true, false} {
		page, err := b.engine.List(&pawl.Query{Reason: "unreadable"})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		r := page.Items[0]
		if r.Run != bad.Run || r.ExternalID != bad.ExternalID || r.Title != bad.Title || r.State != "" || !strings.Contains(r.Unreadable, "undecodable") {
			t.Errorf("%+v", r)
		}
		runs := all(t, b.engine, pawl.Query{})
		at := slices.IndexFunc(runs, func(r pawl.Summary) bool { return r.Run == bad.Run })
		if len(runs) != 24 || slices.ContainsFunc(runs[:max(at, 0)], func(r pawl.Summary) bool { return !stuck(&r) }) {
			t.Errorf("%d runs, and it is the %dth", len(runs), at)
		}
		if noRecovery { // and an engine that recovers knows at once
			b.opts.NoRecovery = false
			b.reopen()
		}
	}
}

// Runs with an open attempt are listed as what their documents say: interrupted
// where nobody executes them, queued where the engine will.
//
// Seen red with each of the two left out of lists.
func TestOpenAttemptsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.forger(b.deploy(folder(t, "", ``)))
	for i, id := range []string{"crashed", "queued"} {
		f.begin(i, id, `{"one":[]}`, func(*journal.Start) {}, nil)
	}
	b.opts.NoRecovery = true
	b.reopen()
	b.engine.Expect(b.find("queued").ID())
	for id, state := range map[string]pawl.RunState{"crashed": pawl.StateInterrupted, "queued": pawl.StateQueued} {
		if c := b.document(id); c.State != state {
			t.Errorf("%s is %s", id, c.State)
		}
		if runs := all(t, b.engine, pawl.Query{State: state}); !slices.Equal(ids(runs), []string{id}) {
			t.Errorf("%s: %q", state, ids(runs))
		}
	}
	if err := agree(b.engine); err != nil {
		t.Error(err)
	}
}
