package kv

import "sync"

// watchers are told of durable changes by prefix. They are found by the length
// of their prefix, so that a commit costs the same for one watcher and for one
// per run.
type watchers struct {
	// mu guards what follows.
	mu      sync.Mutex
	waiting map[string]map[*watch]bool // by prefix
	lengths map[int]int                // how many prefixes in waiting have a length
}

// watch is one who is told.
type watch struct{ changed chan<- struct{} }

func newWatchers() *watchers {
	return &watchers{waiting: map[string]map[*watch]bool{}, lengths: map[int]int{}}
}

// Watch implements [Store].
func (s *badgerStore) Watch(prefix []byte, changed chan<- struct{}) (stop func()) {
	at, w := string(prefix), &watch{changed}
	s.watchers.add(at, w)
	return func() { s.watchers.remove(at, w) }
}

func (w *watchers) add(prefix string, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting[prefix] == nil {
		w.waiting[prefix] = map[*watch]bool{}
		w.lengths[len(prefix)]++
	}
	w.waiting[prefix][one] = true
}

func (w *watchers) remove(prefix string, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting[prefix][one] {
		return
	}
	if delete(w.waiting[prefix], one); len(w.waiting[prefix]) > 0 {
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
	for _, all := range w.waiting {
		wake(all)
	}
}

func wake(all map[*watch]bool) {
	for one := range all {
		select {
		case one.changed <- struct{}{}:
		default: // a value that nobody has received yet stands for this one too
		}
	}
}
