package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/pawl-dev/pawl/host"
)

// What leaves the process, or is the charge of an entry of a guest, is durable
// when the method that writes it returns. The store of this test writes
// nothing that nobody waits for.
//
// Seen red with each of the waits removed, one by one.
func TestWhatIsDurableWhenAMethodReturns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, row := range []struct {
		name string
		act  func(r *Run) error
	}{
		{"the start", func(*Run) error { return nil }},
		{"the charge of a recovery", func(r *Run) error { _, err := r.Reenter(ctx); return err }},
		{"the mark of a free re-entry", func(r *Run) error {
			if err := r.Stop(ctx); err != nil {
				return err
			}
			if charged, err := r.Reenter(ctx); charged || err != nil {
				return fmt.Errorf("after a stop in good order: charged %v, %w", charged, err)
			}
			if r.state.Clean {
				return errors.New("the next re-entry would be free too")
			}
			return nil
		}},
		{"the charge of the next attempt", func(r *Run) error {
			if _, err := r.write(nil, nil, Record{Fail: &Fail{Attempt: 1, Call: -1, Next: 1}}); err != nil {
				return err
			}
			return r.Begin(ctx)
		}},
		{"a failure", func(r *Run) error { return r.Fail(ctx, &Fail{Attempt: 1, Call: -1}) }},
		{"a park", func(r *Run) error { return r.Park(ctx, &Park{Attempt: 1, Call: -1, Code: ParkUnknown}) }},
		{"a spent budget", func(r *Run) error { return r.ParkBudget(ctx, -1, ErrBudgetSpent) }},
		{"a stop", func(r *Run) error { return r.Stop(ctx) }},
		{"the output", func(r *Run) error { return errors.Join(r.Complete(ctx, nil), r.Complete(ctx, nil)) }},
		{"everything, after a flush", func(r *Run) error { return errors.Join(r.Complete(ctx, nil), r.Flush(ctx)) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			r := s.begin("run", "r1", Limits{Recoveries: 5})
			if err := row.act(r); err != nil {
				t.Fatal(err)
			}
			r.Read(func(state *State) {
				if durable := s.seq("run"); durable != state.Seq {
					t.Errorf("durable up to %d of %d", durable, state.Seq)
				}
			})
		})
	}
}

// Nobody waits for these: a later record is durable only with them. The
// receipt of a call that nobody can be asked about, or that booked money, is
// written at once.
//
// Seen red with no receipt, and with only the charged ones, written at once.
func TestWhatLingers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		contract host.Contract
		lingers  bool
	}{
		{"a receipt of keyed", host.Contract{Effect: host.Keyed}, true},
		{"a receipt of a read", host.Contract{Effect: host.Read}, true},
		{"a receipt of verify", host.Contract{Effect: host.Verify}, true},
		{"a receipt of once", host.Contract{Effect: host.Once}, false},
		{"a receipt that is charged", host.Contract{Effect: host.Read, Units: []string{"tokens"}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			r := s.begin("run", "r1", Limits{})
			s.call(r, 0, row.contract, nil)
			if s.seq("run") != 1 {
				t.Error("the intent was written before anybody waited")
			}
			r = s.begin("run2", "r2", Limits{})
			s.call(r, 0, row.contract, applied())
			if seq := s.seq("run2"); (seq == 1) != row.lingers {
				t.Errorf("durable up to %d", seq)
			}
		})
	}
}

// The end of a step and the begin of the next are one entry: no crash comes
// between them.
//
// Seen red with an entry for each.
func TestEndOfAStepBeginsTheNextInOneEntry(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{})
	if err := r.Complete(t.Context(), []byte("1")); err != nil {
		t.Fatal(err)
	}
	r.Read(func(state *State) {
		if state.Seq != 2 || state.Current != 1 || state.Steps[1].Attempts != 1 || state.Phase != PhaseOpen {
			t.Errorf("entry %d: step %d, attempt %d, %s", state.Seq, state.Current, state.Steps[1].Attempts, state.Phase)
		}
	})
}

// A body can be read by its owner before it is durable.
//
// Seen red without the flush.
func TestBodyIsReadBeforeItIsDurable(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{})
	if err := r.Complete(t.Context(), large('o')); err != nil {
		t.Fatal(err)
	}
	var state State
	r.Read(func(now *State) { state = *now })
	for i := range 2 {
		got, err := r.Body(t.Context(), state.Steps[0].Output)
		if err != nil || string(got) != string(large('o')) {
			t.Errorf("reading %d: %d bytes, %v", i, len(got), err)
		}
	}
	if got, err := r.Body(t.Context(), &state.Start.Input); err != nil || string(got) != string(large('i')) {
		t.Errorf("the input: %d bytes, %v", len(got), err)
	}
	state.Start.Input.Hash[0]++
	if _, err := r.Body(t.Context(), &state.Start.Input); !errors.Is(err, ErrUndecodable) {
		t.Errorf("a body that is not there: %v", err)
	}
}
