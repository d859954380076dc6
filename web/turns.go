package web

import (
	"context"
	goruntime "runtime"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// turns lets only some requests at a time look through all runs: that is
// computing, and while there is more of it than processors, every step of every
// run waits for its turn among them.
type turns chan struct{}

// newTurns leaves half of the processors to the runs.
func newTurns() turns { return make(turns, max(1, goruntime.GOMAXPROCS(0)/2)) }

// list is the engine's list, when it is this request's turn.
func (s *server) list(ctx context.Context, q *pawl.Query) (*pawl.Page, error) {
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.turns }()
	return s.engine.List(q)
}
