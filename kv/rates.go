package kv

import (
	"sync"
	"time"
)

// ratesOver is how many seconds rates look back.
const ratesOver = 60

// rates counts the commits of each of the last seconds. It is safe for concurrent
// use. Times are those since it was made.
type rates struct {
	began time.Time

	mu      sync.Mutex // guards seconds
	seconds [ratesOver]second
}

// second is what happened in one; its place in the ring is used again later.
type second struct {
	number         int64
	commits, syncs uint64
}

// count counts a physical commit of some batches.
func (r *rates) count(at time.Duration, commits uint64) {
	number := int64(at / time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.seconds[number%ratesOver]
	if s.number != number {
		*s = second{number: number}
	}
	s.commits += commits
	s.syncs++
}

// perSecond are the rates of the last minute, or since there is anything to
// count if that is less.
func (r *rates) perSecond(at time.Duration) (commits, syncs float64) {
	now := int64(at / time.Second)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.seconds {
		if s.number > now-ratesOver {
			commits += float64(s.commits)
			syncs += float64(s.syncs)
		}
	}
	// The ring holds this second as far as it has come, and 59 whole ones.
	over := min(at, (ratesOver-1)*time.Second+at%time.Second)
	per := max(over, time.Second).Seconds()
	return commits / per, syncs / per
}
