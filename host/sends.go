package host

import (
	"sync"
	"time"
)

// Sends are the sends of a process that have not returned: a tool that ignores
// its context must not have its call sent a second time meanwhile. The zero
// value is ready; it must not be copied and may be used concurrently.
type Sends struct {
	mu sync.Mutex // guards what follows
	// since is when it was first used. Whatever an earlier process sent ended
	// before that.
	since time.Time
	live  map[Key]chan struct{} // closed when the send has returned
	// quiet is when a receiver can no longer apply what returned after its
	// deadline. Times that are over are dropped when there are sweepAt.
	quiet   map[Key]time.Time
	sweepAt int
}

// Returned returns a channel that is closed when the live send of the key has
// returned, or already if there is none. Who was told [WaitError.Hanging] may go
// on then.
func (s *Sends) Returned(key Key) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.live[key]; ok {
		return c
	}
	returned := make(chan struct{})
	close(returned)
	return returned
}

// begin makes the next send of the key live and returns nil, or the channel of
// the one that is.
func (s *Sends) begin(key Key) (busy <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use()
	if c, ok := s.live[key]; ok {
		return c
	}
	s.live[key] = make(chan struct{})
	return nil
}

// end says that the live send of the key has returned, or was never made. If it
// came late, quiet is when its receiver can no longer apply it.
func (s *Sends) end(key Key, quiet time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !quiet.IsZero() {
		s.sweep()
		s.quiet[key] = quiet
	}
	close(s.live[key])
	delete(s.live, key)
}

// state says whether a send of the key is live, and else when the receiver can
// no longer apply late ones. hung says that one of an earlier entry had not
// returned: if it is not known here, it ended with its process.
func (s *Sends) state(key Key, hung bool, settle time.Duration) (quiet time.Time, live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.use()
	if _, live = s.live[key]; live {
		return time.Time{}, true
	}
	quiet = s.quiet[key]
	if ended := s.since.Add(settle); hung && ended.After(quiet) {
		quiet = ended
	}
	return quiet, false
}

func (s *Sends) use() {
	if s.live == nil {
		s.since, s.live, s.quiet = time.Now(), map[Key]chan struct{}{}, map[Key]time.Time{}
	}
}

// sweep drops what is over. It looks at all only when they have doubled since it
// last did.
func (s *Sends) sweep() {
	if len(s.quiet) < s.sweepAt {
		return
	}
	now := time.Now()
	for key, quiet := range s.quiet {
		if quiet.Before(now) {
			delete(s.quiet, key)
		}
	}
	s.sweepAt = 2*len(s.quiet) + 64
}
