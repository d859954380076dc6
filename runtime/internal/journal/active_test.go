package journal

import (
	"testing"
	"testing/synctest"
	"time"
)

// Active time is counted between a start and a stop of the clock, over all
// owners, at least every ten seconds, and not while the clock stands.
//
// Seen red with nothing recorded, with a clock that is never stopped, with
// time counted twice, and without the records in arrears.
func TestActiveTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		r := s.begin("run", "r1", Limits{Recoveries: 5})
		time.Sleep(time.Hour) // nobody executes it yet
		expect := func(want time.Duration) {
			t.Helper()
			r.Read(func(state *State) {
				if state.Used.Active != want {
					t.Errorf("active for %s, want %s", state.Used.Active, want)
				}
			})
		}
		r.StartClock()
		r.StartClock()
		time.Sleep(3 * time.Second)
		if err := r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Next: 1}); err != nil {
			t.Fatal(err)
		}
		r.StopClock()
		r.StopClock()
		expect(3 * time.Second)
		time.Sleep(time.Hour) // it waits for a timer
		r.StartClock()
		time.Sleep(time.Second)
		if err := r.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(4 * time.Second)
		for range 5 { // a long call, then the process is killed
			time.Sleep(5 * time.Second)
			if err := r.Flush(t.Context()); err != nil { // as the store does by itself
				t.Fatal(err)
			}
		}
		expect(24 * time.Second)
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Close()
		time.Sleep(time.Hour)
		var err error
		if r, err = s.book.Open("run", nil); err != nil {
			t.Fatal(err)
		}
		expect(24 * time.Second)
		r.StartClock()
		time.Sleep(time.Second)
		if _, err := r.Reenter(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(25 * time.Second)
		r.Close()
	})
}

// While the disk stands still one record in arrears waits for it, and not one
// more every ten seconds, until there is no room for them and whoever records
// something waits for room with the run locked.
//
// Seen red with a record each time.
func TestActiveTimeWhileTheDiskStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		r := s.begin("run", "r1", Limits{Recoveries: 5})
		defer r.Close()
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.StartClock()
		was := r.Head().Seq
		time.Sleep(3 * time.Hour)
		if is := r.Head().Seq; is != was+1 {
			t.Errorf("%d records in arrears, want 1", is-was)
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(arrears)
		r.Read(func(state *State) {
			if got := state.Used.Active; got < 3*time.Hour {
				t.Errorf("%s are recorded after it went on", got)
			}
		})
	})
}
