package journal

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Upgraded is a move of a run to another version.
type Upgraded struct {
	At       time.Time
	From, To string // digests
}

// Upgrade records that the run goes on with another version of its workflow,
// and waits until that is durable. The caller has seen that its journal replays
// equal there.
func (r *Run) Upgrade(ctx context.Context, u *Upgrade) error {
	wait, err := r.write(nil, nil, Record{Upgrade: u})
	if err != nil {
		return err
	}
	return wait.Wait(ctx)
}

// upgrade folds the move. Steps so far stay; what had failed for good may be
// attempted again, by other code.
func (s *State) upgrade(r *Upgrade, at time.Time) error {
	if s.Ended() || r.From != s.Start.Digest || len(r.Steps) <= s.Current {
		return fmt.Errorf("an upgrade from %s that does not fit", r.From)
	}
	for i, st := range s.Steps[:s.Current+1] {
		if r.Steps[i] != st.Name {
			return fmt.Errorf("an upgrade that renames step %s", st.Name)
		}
	}
	start := *s.Start
	start.Digest, start.Version, start.Pins, start.Steps = r.Digest, r.Version, r.Pins, r.Steps
	s.Start, s.pins = &start, 0
	s.Steps = slices.Clip(s.Steps[:s.Current+1])
	for _, name := range r.Steps[s.Current+1:] {
		s.Steps = append(s.Steps, &Step{Name: name, Phase: PhasePending})
	}
	st := s.Steps[s.Current]
	if st.Failure != nil { // other code may do better
		mended := *st.Failure
		mended.Kind = Temporary
		st.Failure = &mended
	}
	st.Spared = st.Attempts
	if s.Phase == PhaseOpen || s.Phase == PhaseDecision || s.Wait != nil {
		st.Spared = max(0, st.Attempts-1) // one goes on
	}
	if s.Phase == PhaseDecision && s.Park.Code == ParkOrphan { // other code may come to it
		s.Phase, s.Park, s.Clean = PhaseOpen, nil, true
		st.Phase = PhaseOpen
	}
	s.Upgrades = append(s.Upgrades, Upgraded{At: at, From: r.From, To: r.Digest})
	return nil
}
