package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pawl-dev/pawl/kv"
)

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

// Act does what a person asks for, once: of several who were shown the same, in
// whatever engines on the store, one acts and the others get [ErrStale] or
// [ErrAlreadyRunning]. It returns when the act is under way, and fails as
// [Run.Resume] does; an act that is none of this package's fails with
// [ErrInvalidInput]. Nothing is done for a ctx that has ended.
func (r *Run) Act(ctx context.Context, who Principal, act Act) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var err error
	switch a := act.(type) {
	case Resume:
		err = r.resume(a.Seen)
	default:
		err = fmt.Errorf("%w: no act: %T; use one of this package, as a value", ErrInvalidInput, act)
	}
	if err == nil {
		r.engine.opts.Logger.Info("act", keyRun, r.id, keyAction, act.act(), keyPrincipal, who.Name)
	}
	return err
}

// seenOf is a digest of what a run's records say, and so of what a person who
// looks at it is shown.
func seenOf(run string, head kv.Head) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %x", run, head.Seq, head.Hash))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// seen is what people are shown of the body's run once all its records are
// durable.
func (b *body) seen() string { return seenOf(b.id, b.run.Head()) }

// fresh says that the run is not any more what the person who asked for the body
// was shown. It is asked under the run's lease, before anything is begun.
func (b *body) fresh() error { return unchanged(b.id, b.shown, b.seen()) }

func unchanged(run, shown, is string) error {
	if shown == "" || shown == is {
		return nil
	}
	return fmt.Errorf("%w: run %s is not as it was shown; look at it again, then decide", ErrStale, run)
}
