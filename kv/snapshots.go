package kv

import "sync"

// snapshots knows the last durable commit and which snapshots are open, so
// that a view shows nothing younger and Badger drops nothing that one needs.
type snapshots struct {
	// mu guards what follows.
	mu      sync.Mutex
	durable uint64         // number of the last durable commit
	attempt uint64         // the highest number that a commit was tried with
	open    map[uint64]int // open snapshots by commit number
	closed  bool
	readers sync.WaitGroup
	// discard tells Badger up to where superseded values may be dropped.
	discard func(uint64)
}

func newSnapshots(durable uint64, discard func(uint64)) *snapshots {
	discard(durable)
	return &snapshots{durable: durable, open: map[uint64]int{}, discard: discard}
}

// begin opens the newest snapshot.
func (s *snapshots) begin() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, ErrClosed
	}
	s.open[s.durable]++
	s.readers.Add(1)
	return s.durable, nil
}

// try returns the number of the next commit. Once that has been tried, number
// and bytes belong together: whether it landed may never be known.
func (s *snapshots) try() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = s.durable + 1
	return s.attempt
}

// tried returns the highest number that may have been written.
func (s *snapshots) tried() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.durable, s.attempt)
}

func (s *snapshots) end(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[number]--; s.open[number] == 0 {
		delete(s.open, number)
	}
	s.readers.Done()
}

// advance makes commit number the newest snapshot.
func (s *snapshots) advance(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.durable = number
	oldest := number
	for open := range s.open {
		oldest = min(oldest, open)
	}
	s.discard(oldest)
}

// last returns the number of the last durable commit.
func (s *snapshots) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.durable
}

// close lets no further snapshot begin and waits for the open ones.
func (s *snapshots) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.readers.Wait()
}
