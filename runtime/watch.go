package runtime

// Watch returns a channel that gets a value after a run has changed: durably, or
// in whether this engine executes it. Several changes may be one value; whoever
// reads the run's checkpoint after the last value sees the run as it is. An empty
// id watches all runs. Call stop when the channel is no longer read; the channel
// is never closed.
func (e *Engine) Watch(run string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	e.mu.Lock()
	e.watchers.add(run, c)
	e.mu.Unlock()
	stored := e.book.Watch(run, c)
	return c, func() {
		stored()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.watchers.remove(run, c)
	}
}

// watchers are told of what no record says, by run; those of all runs stand
// under the empty id. The engine's mu guards them: they are told before anybody
// sees the next change.
type watchers map[string]map[chan<- struct{}]bool

func (w watchers) add(run string, c chan<- struct{}) {
	if w[run] == nil {
		w[run] = map[chan<- struct{}]bool{}
	}
	w[run][c] = true
}

func (w watchers) remove(run string, c chan<- struct{}) {
	if delete(w[run], c); len(w[run]) == 0 {
		delete(w, run)
	}
}

// tell says that a run is executed in another way than before.
func (w watchers) tell(run string) {
	if len(w) == 0 {
		return
	}
	for _, id := range []string{run, ""} {
		for c := range w[id] {
			wake(c)
		}
	}
}

// tellAll says that this may be so of every run.
func (w watchers) tellAll() {
	for _, of := range w {
		for c := range of {
			wake(c)
		}
	}
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // a value that nobody has received yet stands for this one too
	}
}
