package sandbox

import (
	"time"

	"github.com/tetratelabs/wazero/api"
)

// SetDescribeLimit replaces DescribeLimit, so that a test need not wait for it.
func (s *Sandbox) SetDescribeLimit(d time.Duration) { s.describeLimit = d }

// SetGuests replaces how many guests execute at once. Nobody may be inside.
func (s *Sandbox) SetGuests(n int) { s.gate = make(gate, n) }

// Interpret makes the sandbox interpret modules instead of compiling them.
func (s *Sandbox) Interpret() { s.tested.interpreted = true }

// DoNotCount makes the sandbox compile modules as their authors made them.
func (s *Sandbox) DoNotCount() { s.tested.uncounted = true }

// OnLeaving has f look at the memory of every guest that has left.
func (s *Sandbox) OnLeaving(f func(memory []byte)) {
	s.tested.left = func(m api.Module) {
		all, _ := m.Memory().Read(0, m.Memory().Size())
		f(all)
	}
}
