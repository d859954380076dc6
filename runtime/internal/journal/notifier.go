package journal

import (
	"sync"

	"github.com/pawl-dev/pawl/kv"
)

// maxNotices is how many entries of a run may wait for its observer; then the
// run does.
const maxNotices = 1024

// notifier tells an observer, in order, which entries of a run have become
// durable. It has a goroutine only while there is something to tell: a run that
// sleeps costs none.
type notifier struct {
	observe Observer
	last    uint64 // the commit that was last told of; the goroutine's

	mu    sync.Mutex // guards what follows
	queue []notice
	busy  chan struct{} // closed when the goroutine ends; nil without one
	room  chan struct{} // closed when the queue gets shorter; nil if nobody waits
}

type notice struct {
	pending   kv.Pending
	events    []Event
	announced chan struct{}
}

// add tells of the events when the entry is durable; then the channel is closed.
func (n *notifier) add(p kv.Pending, events []Event) <-chan struct{} {
	announced := make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.queue) >= maxNotices {
		if n.room == nil {
			n.room = make(chan struct{})
		}
		room := n.room
		n.mu.Unlock()
		<-room
		n.mu.Lock()
	}
	n.queue = append(n.queue, notice{p, events, announced})
	if n.busy == nil {
		n.busy = make(chan struct{})
		go n.tell(n.busy)
	}
	return announced
}

// tell tells of what is queued, until nothing is.
func (n *notifier) tell(busy chan struct{}) {
	defer close(busy)
	for next, ok := n.next(); ok; next, ok = n.next() {
		<-next.pending.Done()
		if next.pending.Err() == nil {
			number := next.pending.Number()
			for _, e := range next.events {
				e.Merged = number == n.last
				n.observe(e)
			}
			n.last = number
		}
		close(next.announced)
	}
}

func (n *notifier) next() (first notice, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.room != nil {
		close(n.room)
		n.room = nil
	}
	if len(n.queue) == 0 {
		n.queue, n.busy = nil, nil
		return first, false
	}
	first = n.queue[0]
	n.queue = n.queue[1:]
	return first, true
}

// close waits until all is told. Nothing is added afterwards.
func (n *notifier) close() {
	n.mu.Lock()
	busy := n.busy
	n.mu.Unlock()
	if busy != nil {
		<-busy
	}
}
