package main

import (
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Seen red with the events of all runs handed to everybody.
func TestAFollowerGetsTheEventsOfItsRun(t *testing.T) {
	t.Parallel()
	var h hub
	h.observe(pawl.Event{Run: "a"}) // nobody follows
	known, unknown := h.follow("a"), h.follow("")
	for i := range 3 * mostQueued { // of a run that is not known yet the last are kept
		h.observe(pawl.Event{Run: "b", Seq: uint64(i)})
	}
	h.observe(pawl.Event{Run: "a", Seq: 1})
	unknown.settle("a")
	h.observe(pawl.Event{Run: "b"})
	h.observe(pawl.Event{Run: "a", Seq: 2})
	for name, f := range map[string]*follower{"known": known, "unknown at first": unknown} {
		events, dropped := f.take()
		if len(events) != 2 || events[0].Seq != 1 || events[1].Seq != 2 || dropped {
			t.Errorf("%s: %v, dropped %v", name, events, dropped)
		}
		f.end()
	}
	h.observe(pawl.Event{Run: "a"})
	if events, _ := known.take(); len(events) != 0 || len(h.followers) != 0 {
		t.Errorf("after the end: %v, %d followers", events, len(h.followers))
	}
}

// Nobody takes what comes, and the run goes on.
// Seen red with a queue that keeps all.
func TestASlowFollowerIsDropped(t *testing.T) {
	t.Parallel()
	var h hub
	f := h.follow("a")
	defer f.end()
	for range mostQueued {
		h.observe(pawl.Event{Run: "a"})
	}
	if _, dropped := f.take(); dropped {
		t.Fatal("dropped before it was too slow")
	}
	for range mostQueued + 1 {
		h.observe(pawl.Event{Run: "a"})
	}
	events, dropped := f.take()
	if !dropped || len(events) != 0 {
		t.Errorf("%d events, dropped %v", len(events), dropped)
	}
}
