package main

import (
	"slices"
	"sync"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// hub hands the events of runs to those who follow one. It never blocks a run:
// a follower who does not keep up is dropped. It is safe for concurrent use.
type hub struct {
	mu        sync.RWMutex // guards followers
	followers map[*follower]struct{}
}

// observe is an observer of the engine.
func (h *hub) observe(e pawl.Event) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for f := range h.followers {
		f.offer(&e)
	}
}

// mostQueued is how many events may wait for a follower.
const mostQueued = 1024

// follower gets the events of one run.
type follower struct {
	hub *hub
	// more gets a value after events have come.
	more chan struct{}

	mu      sync.Mutex // guards what follows
	run     string     // empty until it is known: then the events of all runs are kept
	queue   []pawl.Event
	dropped bool
}

// follow begins to gather the events of a run; empty if its id is not known yet.
func (h *hub) follow(run string) *follower {
	f := &follower{hub: h, run: run, more: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.followers == nil {
		h.followers = map[*follower]struct{}{}
	}
	h.followers[f] = struct{}{}
	return f
}

// end ends it.
func (f *follower) end() {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	delete(f.hub.followers, f)
}

// offer gives it an event. Of a run that is not known yet the oldest events
// make room: most are of other runs.
func (f *follower) offer(e *pawl.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.dropped, f.run != "" && f.run != e.Run:
		return
	case len(f.queue) < mostQueued:
	case f.run == "":
		f.queue = slices.Delete(f.queue, 0, 1)
	default:
		f.queue, f.dropped = nil, true
	}
	if !f.dropped {
		f.queue = append(f.queue, *e)
	}
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// settle says which run it is.
func (f *follower) settle(run string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.run = run
	f.queue = slices.DeleteFunc(f.queue, func(e pawl.Event) bool { return e.Run != run })
}

// take returns what has come, oldest first; dropped if that was too much.
func (f *follower) take() (events []pawl.Event, dropped bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, f.queue = f.queue, nil
	return events, f.dropped
}
