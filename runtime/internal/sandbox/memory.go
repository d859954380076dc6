package sandbox

import (
	"fmt"

	"github.com/tetratelabs/wazero/experimental"
)

// memory is the memory of one guest. It is address space of its own, kept for
// all that the guest may grow into and backed by the system only where the
// guest has opened it: growing copies nothing, and what a guest leaves is given
// back at once, whenever Go's collector would have come by. Where there is no
// address space it is on Go's heap.
type memory struct {
	instance *instance
	space    []byte // nil on the heap
	open     uint64 // bytes of space that the guest has
	heap     []byte
}

// Allocate implements experimental.MemoryAllocator.
func (m *memory) Allocate(_, most uint64) experimental.LinearMemory {
	m.space, _ = reserve(most)
	return m
}

// Reallocate implements experimental.LinearMemory.
func (m *memory) Reallocate(size uint64) []byte {
	if m.space == nil {
		return m.grow(size)
	}
	if size > m.open {
		if err := commit(m.space[m.open:size]); err != nil {
			if m.open == 0 {
				m.release()
				return m.grow(size)
			}
			m.fail(size, err)
		}
		m.open = size
	}
	return m.space[:size:size]
}

// fail ends the guest: that the machine has no memory is not its failure.
func (m *memory) fail(size uint64, err error) {
	m.instance.guard(func() error {
		return fmt.Errorf("sandbox: the machine has no memory for a guest that grows to %d bytes: %w", size, err)
	})
}

func (m *memory) grow(size uint64) []byte {
	grown := make([]byte, size)
	copy(grown, m.heap)
	m.heap = grown
	return grown
}

// Free implements experimental.LinearMemory. A guest may close itself and still
// be on the stack, so it does nothing; see release.
func (m *memory) Free() {}

// release gives the memory back. Nobody may use it any more.
func (m *memory) release() {
	if m.space != nil {
		giveBack(m.space)
		m.space = nil
	}
}
