package journal

import (
	"math"
	"sync/atomic"
)

// Meter has the work of the open attempt counted by meter, which holds what
// its guest has computed since it was entered: every record takes over what is
// beyond the work recorded before. So what a guest computes again after a crash
// is not charged again. The meter is let go when another attempt begins.
func (r *Run) Meter(meter *atomic.Int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.meter = meter
}

// unrecorded is the work of the open attempt that no record has yet. The caller
// holds mu.
func (r *Run) unrecorded() int64 {
	if r.meter == nil {
		return 0
	}
	return max(0, r.meter.Load()-r.state.worked)
}

// unmeter lets the meter go if the records begin another attempt: what it
// holds is the work of the one before. The caller holds mu.
func (r *Run) unmeter(records []Record) {
	for i := range records {
		if records[i].Begin != nil {
			r.meter = nil
		}
	}
}

// work adds to the work of the run and of its open attempt.
func (s *State) work(n int64) {
	s.worked += n
	if s.Used.Work += n; s.Used.Work < 0 {
		s.Used.Work = math.MaxInt64 // a sum that overflows has spent any budget
	}
}

// WorkLimit is how much the open attempt may compute in all, from its
// beginning, before the run's budget of work is spent, and the error for that
// moment. Without a budget the error is nil.
func (s *State) WorkLimit() (limit int64, spent error) {
	l := s.Start.Limits.Work
	if l == 0 {
		return 0, nil
	}
	return l - s.Used.Work + s.worked, counted(BudgetWork, l, l)
}

func (s *State) allowWork() error {
	if l := s.Start.Limits.Work; l > 0 && s.Used.Work >= l {
		return counted(BudgetWork, l, s.Used.Work)
	}
	return nil
}
