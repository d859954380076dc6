package sandbox

import (
	"context"
	"sync"
)

// memo makes a value once per key, also under concurrency, and remembers it.
// A failure is told to everybody who waited and then forgotten.
type memo[K comparable, V any] struct {
	mu    sync.Mutex // guards slots
	slots map[K]*slot[V]
}

type slot[V any] struct {
	done  chan struct{} // closed when value and err are there
	value V
	err   error
}

// get returns the value of key. Only waiting ends with ctx; the making goes on
// in whoever makes.
func (m *memo[K, V]) get(ctx context.Context, key K, produce func() (V, error)) (V, error) {
	m.mu.Lock()
	if s, ok := m.slots[key]; ok {
		m.mu.Unlock()
		return s.wait(ctx)
	}
	if m.slots == nil {
		m.slots = make(map[K]*slot[V])
	}
	s := &slot[V]{done: make(chan struct{}), err: errNotMade}
	m.slots[key] = s
	m.mu.Unlock()

	// Deferred, so that a panic in produce does not leave others waiting.
	defer func() {
		if s.err != nil {
			m.mu.Lock()
			delete(m.slots, key)
			m.mu.Unlock()
		}
		close(s.done)
	}()
	s.value, s.err = produce()
	return s.value, s.err
}

func (s *slot[V]) wait(ctx context.Context) (V, error) {
	select {
	case <-s.done:
		return s.value, s.err
	default:
	}
	select {
	case <-s.done:
		return s.value, s.err
	case <-ctx.Done():
		var none V
		return none, ended(ctx)
	}
}

// each calls f with every value that is there.
func (m *memo[K, V]) each(f func(V)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.slots {
		select {
		case <-s.done:
			if s.err == nil {
				f(s.value)
			}
		default:
		}
	}
}
