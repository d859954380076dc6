package journal

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// What ends an attempt, or the run, stays the last record while the clock runs
// on, as it does until that is durable: a disk may hang for longer than the time
// after which active time is recorded. A second record would list the run a
// second time as ended.
//
// Seen red with active time recorded of a run that rests.
func TestNothingIsRecordedOfARunThatRests(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]func(*testing.T, *Run) error{
		"ended": func(t *testing.T, r *Run) error {
			return errors.Join(r.Complete(t.Context(), []byte("1")), r.Complete(t.Context(), []byte("2")))
		},
		"failed": func(t *testing.T, r *Run) error {
			return r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Code: "down", Kind: Deterministic})
		},
		"parked": func(t *testing.T, r *Run) error {
			return r.Park(t.Context(), &Park{Attempt: 1, Call: -1, Code: ParkUnknown, Sentence: "unknown"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShelf(t)
				r := s.begin("run", "r1", Limits{Recoveries: 5})
				defer r.Close()
				r.StartClock()
				time.Sleep(3 * arrears) // which is recorded
				if err := rest(t, r); err != nil {
					t.Fatal(err)
				}
				was := r.Head()
				time.Sleep(3 * arrears)
				if is := r.Head(); is != was {
					t.Errorf("record %d after %d", is.Seq, was.Seq)
				}
				for _, problem := range s.book.Check() {
					t.Error(problem)
				}
			})
		})
	}
}

// A run that has ended while others looked at it is not suspected of anything: a
// recovery that is let go late meets such runs.
//
// Seen red with a position looked for in the steps of an ended run: a panic.
func TestEndedRunIsNoSuspect(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{Recoveries: 5})
	defer r.Close()
	if err := errors.Join(r.Complete(t.Context(), []byte("1")), r.Complete(t.Context(), []byte("2"))); err != nil {
		t.Fatal(err)
	}
	r.Read(func(state *State) {
		if n := state.InARow(); n != 0 || state.Suspect() {
			t.Errorf("suspected, %d in a row", n)
		}
	})
}
