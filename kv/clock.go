package kv

import (
	"sync/atomic"
	"time"
)

// clock is the clock that keys expire by: wall time in whole seconds, which
// never goes back while the store is open. So what a requirement took for
// expired is expired in every view that begins later.
type clock struct{ last atomic.Uint64 }

func newClock() *clock { return &clock{} }

func (c *clock) now() uint64 {
	wall := uint64(max(time.Now().Unix(), 0))
	for {
		last := c.last.Load()
		if wall <= last {
			return last
		}
		if c.last.CompareAndSwap(last, wall) {
			return wall
		}
	}
}
