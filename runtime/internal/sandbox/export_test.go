package sandbox

import "time"

// SetDescribeLimit replaces DescribeLimit, so that a test need not wait for it.
func (s *Sandbox) SetDescribeLimit(d time.Duration) { s.describeLimit = d }
