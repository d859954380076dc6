package runtime_test

import (
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// An owner that is late writes where the run stops after it was read for whoever
// takes it over, and before the first record of that: then it stands as that
// owner left it, whoever goes on with it.
//
// Seen red with what is read anew not looked at: a panic, and calls of a run that
// had failed for good, had spent its budget, or waited for its timer.
func TestRunThatStopsUnderATakeOver(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour).UnixMicro()
	fail := func(kind string, next int64) func(*testing.T, *journal.Run) error {
		return func(t *testing.T, r *journal.Run) error {
			return r.Fail(t.Context(), &journal.Fail{Attempt: 1, Call: -1, Code: "error", Message: "down", Kind: kind, Retry: "again", Next: next})
		}
	}
	for name, row := range map[string]struct {
		stop   func(t *testing.T, r *journal.Run) error
		state  pawl.RunState
		byHand bool // a person may go on with it all the same
	}{
		"it has ended":         {func(t *testing.T, r *journal.Run) error { return r.Complete(t.Context(), []byte(`[]`)) }, pawl.StateCompleted, false},
		"it has failed":        {fail(journal.Deterministic, 0), pawl.StateFailed, false},
		"it waits for a timer": {fail(journal.Temporary, later), pawl.StateWaiting, true},
		"its budget is spent": {func(t *testing.T, r *journal.Run) error {
			return r.Park(t.Context(), &journal.Park{Attempt: 1, Call: -1, Code: journal.ParkBudget, Sentence: "spent"})
		}, pawl.StateNeedsDecision, false},
	} {
		for _, by := range []string{"a person", "the engine"} {
			t.Run(name+", by "+by, func(t *testing.T) {
				t.Parallel()
				keyed, _, tools := keyedAndRead()
				b := setup(t, tools...)
				w := b.deploy(folder(t, "", "tools = [\"keyed\"]\nretry = { attempts = 3 }"))
				b.opts.Paused = true
				var store *late
				b.wrap = func(s kv.Store) kv.Store { store = &late{Store: s}; return store }
				b.reopen()
				w, err := b.engine.Workflow(w.Name())
				if err != nil {
					t.Fatal(err)
				}
				f := b.forger(w)
				f.begin(1, "r1", `{"one":[{"call":"keyed"}]}`, nil, nil)
				b.reopen()
				r := b.find("r1")
				book, err := journal.OpenBook(t.Context(), b.store)
				if err != nil {
					t.Fatal(err)
				}
				owner, err := book.Open(r.ID(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer owner.Close()
				if w, err = b.engine.Workflow(w.Name()); err != nil {
					t.Fatal(err)
				}
				b.rest(b.start(w, "r0", `{"one":[]}`)) // that the engine executes is recorded by now
				goOn := r.Resume
				if by == "the engine" {
					goOn = func() error { return b.engine.Recover(t.Context()) }
				}
				store.before = func() {
					if err := row.stop(t, owner); err != nil {
						t.Error(err)
					}
				}
				if err := goOn(); err != nil {
					t.Fatal(err)
				}
				_, _ = r.Wait(t.Context(), time.Minute) // says why it did not go on
				c := b.document("r1")
				if row.byHand && by == "a person" {
					completed(t, c)
				} else if c.State != row.state || keyed.sent.Load() != 0 {
					t.Errorf("state %s, sent %d times", c.State, keyed.sent.Load())
				}
			})
		}
	}
}
