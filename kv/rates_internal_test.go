package kv

import (
	"math"
	"testing"
	"time"
)

// Rates are those of the last minute: what is older does not count, the time
// before the opening does not either, and a burst is no rate.
//
// Seen red with seconds that are not cleared when their place is used again, with
// old ones counted, and with a minute for a store that has just been opened.
func TestRatesAreThoseOfTheLastMinute(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	var r rates
	at := func(now time.Duration, wantCommits, wantSyncs float64) {
		t.Helper()
		commits, syncs := r.perSecond(now)
		if math.Abs(commits-wantCommits) > 0.05*wantCommits || math.Abs(syncs-wantSyncs) > 0.05*wantSyncs {
			t.Errorf("after %s: %.2f commits and %.2f syncs, want %.2f and %.2f", now, commits, syncs, wantCommits, wantSyncs)
		}
	}
	at(0, 0, 0)
	r.count(10*ms, 30)
	at(20*ms, 30, 1)
	at(10_000*ms, 3, 0.1)
	for now := 10_000 * ms; now < 200_000*ms; now += 100 * ms { // ten a second, three batches each
		r.count(now, 3)
	}
	at(200_000*ms, 30, 10)
	at(229_500*ms, 15, 5) // half a minute later
	at(258_500*ms, 0.5, 10./60)
	at(261_000*ms, 0, 0)
	at(10_000_000*ms, 0, 0)
	r.count(10_000_000*ms, 60)
	at(10_000_000*ms, 1, 1./60)
}
