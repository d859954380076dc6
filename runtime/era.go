package runtime

import (
	"context"
	"sync"
	"time"
)

// era is a time in which runs are executed: from the engine's opening, or a
// reopening of its store, until the engine closes or its store fails.
type era struct {
	// stopping is cancelled when the era is to end: nothing new is begun.
	// killing is cancelled when its grace is over: calls in flight end too.
	stopping, killing context.Context
	stop, kill        context.CancelFunc
	bodies            sync.WaitGroup // bodies, and what is on its way to become one
}

func newEra() *era {
	r := new(era)
	r.stopping, r.stop = context.WithCancel(context.Background())
	r.killing, r.kill = context.WithCancel(context.Background())
	return r
}

// end stops what the era executes and waits for it: calls in flight may finish
// within the grace. Nobody may begin a body of the era any more.
func (e *Engine) end(r *era) {
	r.stop()
	e.mu.Lock()
	var sleeping []*body
	for _, b := range e.live {
		if b.era == r && b.timer != nil && b.timer.Stop() {
			b.timer = nil
			sleeping = append(sleeping, b)
		}
	}
	e.mu.Unlock()
	for _, b := range sleeping {
		e.leave(b)
		r.bodies.Done()
	}
	grace := time.AfterFunc(e.opts.Grace, r.kill)
	r.bodies.Wait()
	grace.Stop()
	r.kill()
}
