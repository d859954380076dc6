package kvtest

import (
	"bytes"

	"github.com/pawl-dev/pawl/kv"
)

// watcher is told of changes under a prefix.
type watcher struct {
	prefix  []byte
	changed chan<- struct{}
}

// Watch implements [kv.Store].
func (s *diskStore) Watch(prefix []byte, changed chan<- struct{}) (stop func()) {
	w := &watcher{bytes.Clone(prefix), changed}
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if !s.closed {
		s.watchers[w] = true
	}
	return func() {
		s.disk.mu.Lock()
		defer s.disk.mu.Unlock()
		delete(s.watchers, w)
	}
}

func (w *watcher) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// sees reports whether the batch changes a key of the watcher.
func (w *watcher) sees(b *kv.Batch) bool {
	for _, c := range b.Changes {
		if bytes.HasPrefix(c.Key, w.prefix) {
			return true
		}
	}
	return false
}

// tell tells the watchers of all stores on the disk what the commit changed.
// The caller holds mu.
func (c *commit) tell() {
	for _, s := range c.store.disk.stores {
		for w := range s.watchers {
			for i, p := range c.batches {
				if c.errs[i] == nil && w.sees(p.batch) {
					w.tell()
					break
				}
			}
		}
	}
}
