package runtime

import "context"

// Principal is who acts on a run, as whoever checked that says.
type Principal struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// Act is what a person can do to a run: one of the types of this package that
// say so. The document's actions are the acts that are possible now.
type Act interface{ act() string }

// Resume goes on with a run that rests, as [Run.Resume] does.
type Resume struct {
	// Seen is that of the document's action which the person was shown. If the
	// run has changed since, the act fails with [ErrStale]. Empty for whoever
	// was shown nothing.
	Seen string
}

func (Resume) act() string { return "resume" }

// Act does what a person asks for, once: of several who were shown the same,
// one acts and the others get [ErrStale] or [ErrAlreadyRunning]. It returns
// when the act is under way, and fails as [Run.Resume] does. ctx bounds waiting
// for that alone.
func (r *Run) Act(ctx context.Context, who Principal, act Act) error {
	// TODO: thin; checks Seen and resumes, not yet atomically.
	if err := ctx.Err(); err != nil {
		return err
	}
	switch a := act.(type) {
	case Resume:
		if a.Seen != "" {
			c, err := r.Checkpoint()
			if err != nil {
				return err
			}
			if len(c.Actions) == 0 || c.Actions[0].Seen != a.Seen {
				return ErrStale
			}
		}
		return r.Resume()
	}
	return nil
}
