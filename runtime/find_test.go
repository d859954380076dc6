package runtime_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Runs come newest first, "@last" is the newest, and a name finds its run.
// (How names are matched is tested where they are matched, in the journal.)
//
// Seen red with the oldest as the last, and with a sequence that ends at a run
// that cannot be read.
func TestRunsAndFind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, err := b.engine.Lookup("@last"); !errors.Is(err, pawl.ErrNotFound) {
		t.Errorf("the last of no runs: %v", err)
	}
	w := b.deploy(folder(t, "", ""))
	var ids []string
	for _, id := range []string{"first", "second", "third"} {
		r := b.start(w, id, `{"one":[]}`)
		b.rest(r)
		ids = append(ids, r.ID())
		if last := b.lookup("@last"); last.ID() != r.ID() {
			t.Errorf("the last is %s, want %s", last.ID(), r.ID())
		}
		for _, ref := range []string{id, r.ID(), id[:4], r.ID()[12:]} {
			if found := b.lookup(ref); found.ID() != r.ID() {
				t.Errorf("%q finds %s, want %s", ref, found.ID(), r.ID())
			}
		}
	}
	for _, ref := range []string{"nobody", "", ids[0][:4]} {
		if _, err := b.engine.Lookup(ref); !errors.Is(err, pawl.ErrNotFound) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	commit(t, chain(t, b.store, []byte("r/"+ids[1]+"/")).Append([]byte("hello"), nil))
	b.damaged = true
	var got []string
	for _, r := range all(t, b.engine, pawl.Query{}) {
		if r.Unreadable != "" {
			r.ExternalID = "undecodable"
		}
		got = append(got, r.ExternalID)
	}
	if want := []string{"third", "undecodable", "first"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is the id of a run names that run: no other one has it as its external id,
// by which a program that knows either would reach the wrong one.
//
// Seen red with external ids that are looked for among external ids alone.
func TestExternalIDIsNotAnothersID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", ""))
	first := b.start(w, "order-1", `{"one":[]}`)
	b.rest(first)
	_, err := pawl.Start(t.Context(), w, first.ID(), map[string]any{"one": []any{}}, nil)
	if !errors.Is(err, pawl.ErrInputConflict) || !strings.Contains(err.Error(), "is the id of another run") {
		t.Errorf("started with %v", err)
	}
	if r, err := b.engine.Find(first.ID()); err != nil || r.ID() != first.ID() {
		t.Errorf("found %v, %v", r, err)
	}
}
