package runtime

import (
	"slices"
	"strings"
	"time"
)

// tally counts runs by state and reason.
type tally map[standingKey]*tallied

type standingKey struct {
	state  RunState
	reason string
}

type tallied struct {
	runs   int
	oldest int64 // microseconds; 0 if it is not known
}

// add counts runs that have stood like this since a time, in microseconds, 0 if
// that is not known.
func (t tally) add(state RunState, reason string, runs int, since int64) {
	key := standingKey{state, reason}
	n := t[key]
	if n == nil {
		n = new(tallied)
		t[key] = n
	}
	n.runs += runs
	if since != 0 && (n.oldest == 0 || since < n.oldest) {
		n.oldest = since
	}
}

func (t tally) counts() []Count {
	counts := make([]Count, 0, len(t))
	for key, n := range t {
		c := Count{State: key.state, Reason: key.reason, Runs: n.runs}
		if n.oldest != 0 && key.reason != "" {
			c.Oldest = time.UnixMicro(n.oldest).UTC()
		}
		counts = append(counts, c)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return strings.Compare(string(a.State)+" "+a.Reason, string(b.State)+" "+b.Reason)
	})
	return counts
}
