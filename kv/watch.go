package kv

import "sync"

// watchers are told of durable changes by prefix. They are found by the length
// of their prefix, so that a commit costs the same for one watcher and for one
// per run.
type watchers struct {
	// mu guards what follows.
	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool // by prefix
	lengths map[int]int                       // how many prefixes in waiting have a length
}

func newWatchers() *watchers {
	return &watchers{waiting: map[string]map[chan struct{}]bool{}, lengths: map[int]int{}}
}

// Watch implements [Store]. The channel is never closed.
func (s *badgerStore) Watch(prefix []byte) (<-chan struct{}, func()) {
	changed := make(chan struct{}, 1)
	at := string(prefix)
	s.watchers.add(at, changed)
	return changed, func() { s.watchers.remove(at, changed) }
}

func (w *watchers) add(prefix string, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[prefix] == nil {
		w.waiting[prefix] = map[chan struct{}]bool{}
		w.lengths[len(prefix)]++
	}
	w.waiting[prefix][changed] = true
}

func (w *watchers) remove(prefix string, changed chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting[prefix][changed] {
		return
	}
	if delete(w.waiting[prefix], changed); len(w.waiting[prefix]) > 0 {
		return
	}
	delete(w.waiting, prefix)
	if w.lengths[len(prefix)]--; w.lengths[len(prefix)] == 0 {
		delete(w.lengths, len(prefix))
	}
}

// tell tells whoever watches one of the changed keys of durable batches.
func (w *watchers) tell(batches []*pending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return
	}
	for _, p := range batches {
		if p.err != nil {
			continue
		}
		for _, change := range p.batch.Changes {
			w.tellLocked(change.Key)
		}
	}
}

func (w *watchers) tellLocked(key []byte) {
	for length := range w.lengths {
		if length <= len(key) {
			wake(w.waiting[string(key[:length])])
		}
	}
}

// tellAll tells everybody: what has changed is not known.
func (w *watchers) tellAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, channels := range w.waiting {
		wake(channels)
	}
}

func wake(channels map[chan struct{}]bool) {
	for changed := range channels {
		select {
		case changed <- struct{}{}:
		default: // a value that nobody has received yet stands for this one too
		}
	}
}
