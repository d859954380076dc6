package main

import (
	"sync"
	"time"
)

// stillEvery is how long a stage is silent before it tells that it goes on.
const stillEvery = 5 * time.Second

// stages tells what takes long while it takes long, one stage after the other.
type stages struct {
	g *Globals
	// silent is for how long nothing is told of a stage; 0 tells at once.
	silent time.Duration

	stop   chan struct{} // closed to end the telling of the stage under way
	teller sync.WaitGroup
}

// next begins a stage and ends the one before.
func (s *stages) next(what string) {
	s.end()
	if s.silent == 0 {
		s.tell("%s", what)
	}
	stop := make(chan struct{})
	s.stop = stop
	s.teller.Go(func() { s.follow(what, stop) })
}

// end ends the last stage. Nothing more is told then.
func (s *stages) end() {
	if s.stop != nil {
		close(s.stop)
		s.teller.Wait()
		s.stop = nil
	}
}

func (s *stages) tell(format string, args ...any) { s.g.notice("building", format, args...) }

// follow tells that the stage goes on until it ends.
func (s *stages) follow(what string, stop <-chan struct{}) {
	began := time.Now()
	if s.silent > 0 {
		select {
		case <-time.After(s.silent):
			s.tell("%s", what)
		case <-stop:
			return
		}
	}
	for tick := time.NewTicker(stillEvery); ; {
		select {
		case <-tick.C:
			s.tell("  still at it after %s", duration(time.Since(began).Round(time.Second)))
		case <-stop:
			tick.Stop()
			return
		}
	}
}
