package sandbox

import (
	"math"
	"time"
)

// clockStep is how far a clock moves with each reading, in nanoseconds. It is
// small because language runtimes bound their own work by time: with coarse
// steps the collector of a Go guest starves.
const clockStep = 1000

// monotonicStart is not zero, since guests take a zero for "not set".
const monotonicStart = int64(time.Millisecond)

// clock is the guest's time, in nanoseconds. It stands still at the end of the
// range instead of turning around.
type clock struct {
	wall      int64 // since 1970
	monotonic int64
}

func newClock(start time.Time) clock {
	return clock{wall: nanoseconds(start), monotonic: monotonicStart}
}

// nanoseconds is the time since 1970, cut to what a guest can be told.
func nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func (c *clock) walltime() (sec int64, nsec int32) {
	now := c.wall
	c.wall = later(c.wall, clockStep)
	return now / int64(time.Second), int32(now % int64(time.Second))
}

func (c *clock) nanotime() int64 {
	now := c.monotonic
	c.monotonic = later(c.monotonic, clockStep)
	return now
}

// sleep passes the time at once.
func (c *clock) sleep(ns int64) {
	if ns > 0 {
		c.wall = later(c.wall, ns)
		c.monotonic = later(c.monotonic, ns)
	}
}

// jump moves the wall clock to a recorded time, never back.
func (c *clock) jump(to time.Time) { c.wall = max(c.wall, nanoseconds(to)) }

func later(t, by int64) int64 {
	if by > math.MaxInt64-t {
		return math.MaxInt64
	}
	return t + by
}
