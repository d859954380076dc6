package journal

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Work counts by position: what an attempt computes again after a crash is not
// charged again, what the next attempt computes is. Every record takes over
// what is not recorded, and every ten seconds one is made for that.
//
// Seen red with a re-entry that is charged from its beginning, without the
// records in arrears, and with a meter that is kept when the next attempt begins.
func TestWorkCountsByPosition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t)
		r := s.begin("run", "r1", Limits{Recoveries: 5})
		expect := func(want int64) {
			t.Helper()
			r.Read(func(state *State) {
				if state.Used.Work != want {
					t.Errorf("work %d, want %d", state.Used.Work, want)
				}
			})
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		meter := func(n int64) (m *atomic.Int64) {
			m = new(atomic.Int64)
			m.Store(n)
			r.Meter(m)
			return m
		}
		r.StartClock()
		m := meter(0)
		m.Store(100)
		must(r.Stop(t.Context()))
		expect(100)
		m.Store(150)
		time.Sleep(11 * time.Second) // it computes, and calls nobody
		expect(150)
		m.Store(180) // the process is killed before that is recorded
		must(r.Flush(t.Context()))
		r.Close()

		var err error
		r, err = s.book.Open("run", nil)
		must(err)
		expect(150)
		r.StartClock()
		_, err = r.Reenter(t.Context())
		must(err)
		m = meter(120) // on its way to where it was
		must(r.Stop(t.Context()))
		expect(150)
		m.Store(200)
		must(r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Next: 1}))
		expect(200)
		must(r.Begin(t.Context()))
		expect(200)
		must(r.Stop(t.Context())) // before the guest is entered
		expect(200)
		meter(30)
		must(r.Complete(t.Context(), []byte("1")))
		expect(230)
		must(r.Flush(t.Context()))
		r.Close()
	})
}

// The record that ends a step begins the next one's attempt: what it books is
// the work of the step that ends.
//
// Seen red with the work booked after the records.
func TestWorkOfAStepThatEnds(t *testing.T) {
	t.Parallel()
	s := new(State)
	for i, e := range []*entry{
		{Records: []Record{{Start: &Start{Run: "run", Steps: []string{"one", "two"}}}, {Begin: &Begin{Attempt: 1}}}},
		{Work: 30, Records: []Record{{Done: &Done{Attempt: 1}}, {Begin: &Begin{Step: 1, Attempt: 1}}}},
	} {
		if err := s.apply(uint64(i+1), e); err != nil {
			t.Fatal(err)
		}
	}
	if s.Used.Work != 30 || s.worked != 0 {
		t.Errorf("work %d, of the open attempt %d", s.Used.Work, s.worked)
	}
}

// Seen red without each of the checks.
func TestBudgetOfWork(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		limit, used int64
		may         bool
	}{
		"no limit":  {0, math.MaxInt64, true},
		"some left": {100, 99, true},
		"spent":     {100, 100, false},
		"overspent": {100, 101, false},
	} {
		s := &State{Start: &Start{Limits: Limits{Work: row.limit}}, Used: Used{Work: row.used}, Steps: []*Step{{}}}
		for what, err := range map[string]error{
			"a call":     s.allowCall(nil, time.Now()),
			"an attempt": s.AllowAttempt(0, 1, time.Now()),
		} {
			spent := new(BudgetError)
			if row.may && err == nil || errors.As(err, &spent) && spent.Budget == BudgetWork && !row.may {
				continue
			}
			t.Errorf("%s: %s: %v", name, what, err)
		}
	}
}

// What the open attempt may compute is counted from its beginning.
//
// Seen red with the recorded work of the attempt left out.
func TestWorkLimitOfAnAttempt(t *testing.T) {
	t.Parallel()
	s := &State{Start: &Start{Limits: Limits{Work: 100}}, Used: Used{Work: 70}, worked: 20}
	if limit, spent := s.WorkLimit(); limit != 50 || !errors.Is(spent, ErrBudgetSpent) {
		t.Errorf("%d, %v", limit, spent)
	}
	s.Start.Limits.Work = 0
	if _, spent := s.WorkLimit(); spent != nil {
		t.Errorf("without a budget: %v", spent)
	}
	s.work(math.MaxInt64)
	if s.Used.Work != math.MaxInt64 {
		t.Errorf("a sum that overflows is %d", s.Used.Work)
	}
}
