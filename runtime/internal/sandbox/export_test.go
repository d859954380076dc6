package sandbox

import "time"

// SetDescribeLimit replaces DescribeLimit, so that a test need not wait for it.
func (s *Sandbox) SetDescribeLimit(d time.Duration) { s.describeLimit = d }

// SetGuests replaces how many guests execute at once. Nobody may be inside.
func (s *Sandbox) SetGuests(n int) { s.gate = make(gate, n) }

// Interpret makes the sandbox interpret modules instead of compiling them.
func (s *Sandbox) Interpret() { s.interpret = true }
