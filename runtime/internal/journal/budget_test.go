package journal

import (
	"errors"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// What a budget allows, at its limit and right before it. The zero value of
// every limit but that of recoveries is none.
//
// Seen red with each of the limits removed, and with one more of each.
func TestBudgetsAllow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	call := func(s *State) error { return s.allowCall([]string{"tokens", "cents"}, now) }
	attempt := func(s *State) error { return s.AllowAttempt(0, 3, now) }
	for name, row := range map[string]struct {
		limits Limits
		used   Used
		may    func(*State) error
		spent  string // "" if it is allowed
	}{
		"no limits: a call":                 {Limits{}, Used{Calls: 1e6, Active: time.Hour, Units: map[string]int64{"tokens": 1e6}}, call, ""},
		"no limits: an attempt":             {Limits{}, Used{Attempts: 1e6, Active: time.Hour}, attempt, ""},
		"the last call":                     {Limits{Calls: 3}, Used{Calls: 2}, call, ""},
		"one call too many":                 {Limits{Calls: 3}, Used{Calls: 3}, call, BudgetCalls},
		"calls are no attempts":             {Limits{Calls: 3}, Used{Calls: 3}, attempt, ""},
		"a unit not spent":                  {Limits{Units: map[string]int64{"tokens": 5}}, Used{Units: map[string]int64{"tokens": 4}}, call, ""},
		"a unit spent":                      {Limits{Units: map[string]int64{"tokens": 5}}, Used{Units: map[string]int64{"tokens": 5}}, call, "tokens"},
		"a unit overspent":                  {Limits{Units: map[string]int64{"cents": 5}}, Used{Units: map[string]int64{"cents": 50}}, call, "cents"},
		"a unit of nothing":                 {Limits{Units: map[string]int64{"tokens": 0}}, Used{}, call, "tokens"},
		"a unit that the tool never costs":  {Limits{Units: map[string]int64{"euros": 5}}, Used{Units: map[string]int64{"euros": 5}}, call, ""},
		"active time left: a call":          {Limits{Active: time.Second}, Used{Active: time.Second - 1}, call, ""},
		"active time spent: a call":         {Limits{Active: time.Second}, Used{Active: time.Second}, call, BudgetActive},
		"active time spent: an attempt":     {Limits{Active: time.Second}, Used{Active: time.Second}, attempt, BudgetActive},
		"at the deadline: a call":           {Limits{Deadline: now.UnixMicro()}, Used{}, call, ""},
		"after the deadline: a call":        {Limits{Deadline: now.UnixMicro() - 1}, Used{}, call, BudgetDeadline},
		"at the deadline: an attempt":       {Limits{Deadline: now.UnixMicro()}, Used{}, attempt, ""},
		"after the deadline: an attempt":    {Limits{Deadline: now.UnixMicro() - 1}, Used{}, attempt, BudgetDeadline},
		"the run's last attempt":            {Limits{Attempts: 5}, Used{Attempts: 4}, attempt, ""},
		"one attempt of the run too many":   {Limits{Attempts: 5}, Used{Attempts: 5}, attempt, BudgetAttempts},
		"attempts are no calls":             {Limits{Attempts: 5}, Used{Attempts: 5}, call, ""},
		"the step's attempts come first":    {Limits{Attempts: 1}, Used{Attempts: 3}, func(s *State) error { return s.AllowAttempt(1, 3, now) }, BudgetStepAttempts},
		"the step's last attempt":           {Limits{}, Used{Attempts: 3}, func(s *State) error { return s.AllowAttempt(1, 4, now) }, ""},
		"recoveries of a run without limit": {Limits{}, Used{}, (*State).allowRecovery, BudgetRecoveries},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &State{Start: &Start{Limits: row.limits}, Used: row.used, Steps: []*Step{{}, {Attempts: 3}}}
			err := row.may(s)
			var spent *BudgetError
			if row.spent == "" && err == nil {
				return
			}
			if !errors.As(err, &spent) || spent.Budget != row.spent || !errors.Is(err, ErrBudgetSpent) {
				t.Errorf("%v, want %q", err, row.spent)
			}
		})
	}
}

// Nothing of what a budget does not allow is recorded.
//
// Seen red with the check left out of an intent, of a further try and of a
// refusal, and with the units left out of the intent's.
func TestWhatABudgetDoesNotAllowIsNotRecorded(t *testing.T) {
	t.Parallel()
	c := &host.Call{Attempt: 1, Try: 1}
	units := host.Contract{Units: []string{"tokens"}}
	for name, row := range map[string]struct {
		limits Limits
		act    func(r *Run) error
	}{
		"an intent": {Limits{Deadline: 1}, func(r *Run) error {
			_, err := r.Ledger(0, "t", c, host.Contract{}, 0).Intend(t.Context(), host.Intent{Call: c})
			return err
		}},
		"an intent that costs a unit": {Limits{Units: map[string]int64{"tokens": 0}}, func(r *Run) error {
			_, err := r.Ledger(0, "t", c, units, 0).Intend(t.Context(), host.Intent{Call: c, Contract: units})
			return err
		}},
		"a further try": {Limits{Calls: 1}, func(r *Run) error {
			l := r.Ledger(0, "t", c, host.Contract{}, 0)
			if _, err := l.Intend(t.Context(), host.Intent{Call: c}); err != nil {
				return err
			}
			_, err := l.Retry(t.Context(), host.Retry{Call: &host.Call{Attempt: 1, Try: 2}})
			return err
		}},
		"a refusal": {Limits{Deadline: 1}, func(r *Run) error {
			_, err := r.Refuse(0, 1, 0, "t", "t", host.Hash{}, 1, "denied", "")
			return err
		}},
		"a recovery": {Limits{Recoveries: 0}, func(r *Run) error { _, err := r.Reenter(t.Context()); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			r := s.begin("run", "r1", row.limits)
			if err := row.act(r); !errors.Is(err, ErrBudgetSpent) {
				t.Fatal(err)
			}
			if err := r.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := map[bool]uint64{false: 1, true: 2}[name == "a further try"]
			if seq := s.seq("run"); seq != want {
				t.Errorf("%d entries, want %d", seq, want)
			}
		})
	}
}

// A budget that is spent when a step ends parks the run before the next step.
//
// Seen red with the next attempt begun all the same, and with the codes of the
// deadline and of the recoveries left out.
func TestSpentBudgetParks(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Hour).UnixMicro()
	for name, row := range map[string]struct {
		limits Limits
		code   string
	}{
		"attempts":     {Limits{Attempts: 1}, ParkBudget},
		"the deadline": {Limits{Deadline: past}, ParkDeadline},
	} {
		s := newShelf(t)
		r := s.begin("run", "r1", row.limits)
		if err := r.Complete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		r.Read(func(state *State) {
			if state.Phase != PhaseDecision || state.Park.Code != row.code || state.Current != 1 || state.Steps[1].Attempts != 0 {
				t.Errorf("%s: %s, %+v", name, state.Phase, state.Park)
			}
		})
	}
	for budget, code := range map[string]string{BudgetRecoveries: ParkQuarantined, BudgetDeadline: ParkDeadline, BudgetCalls: ParkBudget} {
		if p := budgetPark(0, 1, -1, &BudgetError{Budget: budget}); p.Code != code {
			t.Errorf("%s parks as %s", budget, p.Code)
		}
	}
}

// How long a run may go on from now is the shorter of what is left until its
// deadline and of its active time; the budget that is spent then is named.
//
// Seen red without the deadline, without the active time, with the longer of
// the two, and with the time that was used before left out.
func TestTimeLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) int64 { return now.Add(d).UnixMicro() }
	for name, row := range map[string]struct {
		limits Limits
		used   time.Duration
		want   time.Duration // from now
		spent  string        // "" if there is no limit
	}{
		"no limit":                       {Limits{}, time.Hour, 0, ""},
		"the deadline":                   {Limits{Deadline: in(time.Minute)}, time.Hour, time.Minute, BudgetDeadline},
		"active time":                    {Limits{Active: time.Hour}, 50 * time.Minute, 10 * time.Minute, BudgetActive},
		"the deadline is first":          {Limits{Active: time.Hour, Deadline: in(5 * time.Minute)}, 50 * time.Minute, 5 * time.Minute, BudgetDeadline},
		"active time is first":           {Limits{Active: time.Hour, Deadline: in(15 * time.Minute)}, 50 * time.Minute, 10 * time.Minute, BudgetActive},
		"more is used than there may be": {Limits{Active: time.Hour}, 2 * time.Hour, -time.Hour, BudgetActive},
	} {
		s := &State{Start: &Start{Limits: row.limits}, Used: Used{Active: row.used}}
		at, err := s.TimeLimit(now)
		var spent *BudgetError
		if row.spent == "" {
			if !at.IsZero() || err != nil {
				t.Errorf("%s: %s, %v", name, at, err)
			}
			continue
		}
		if !at.Equal(now.Add(row.want)) || !errors.As(err, &spent) || spent.Budget != row.spent {
			t.Errorf("%s: %s, %v", name, at.Sub(now), err)
		}
	}
}
