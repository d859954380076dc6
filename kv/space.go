package kv

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	// defaultReserve covers two logs and two tables of full memtables, and what
	// is written between two looks.
	defaultReserve = 64 << 20
	// openRoom is what opening needs besides the tables that become of logs.
	openRoom = 4 << 20
	// lookBytes and lookEvery are how much is written, and how much time passes,
	// before free space is looked at again.
	lookBytes = 1 << 20
	lookEvery = 100 * time.Millisecond
)

// space watches over the free space: Badger writes into mapped files, for
// which a full disk is a signal that ends the process.
type space struct {
	dir     string
	reserve int64 // bytes; 0 for none
	free    func(dir string) (bytes int64, known bool)

	// mu guards what follows.
	mu     sync.Mutex
	merge  func() int64 // what Badger may write when it merges tables
	at     time.Time    // of the last look that found enough
	budget int64        // bytes that may be written before the next look
}

func newSpace(dir string, o Options) *space {
	return &space{dir: dir, reserve: max(o.Reserve, 0), free: o.free, merge: func() int64 { return 0 }}
}

// merging says how to find out what Badger may write when it merges tables.
func (s *space) merging(merge func() int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merge = merge
}

// look returns the free bytes and how many have to be there. Both are 0 if
// they are not known.
func (s *space) look() (free, need int64) {
	free, known := s.free(s.dir)
	if !known {
		return 0, 0
	}
	s.mu.Lock()
	merge := s.merge
	s.mu.Unlock()
	if s.reserve > 0 {
		need = s.reserve + merge()
	}
	return free, need
}

// full returns nil or an [ErrNoSpace]. It looks at the disk only after some
// bytes or some time, and each time while there is too little.
func (s *space) full() error {
	if s.reserve == 0 {
		return nil
	}
	s.mu.Lock()
	lately := s.budget > 0 && time.Since(s.at) < lookEvery
	s.mu.Unlock()
	if lately {
		return nil
	}
	free, need := s.look()
	s.mu.Lock()
	defer s.mu.Unlock()
	if free < need {
		s.budget = 0
		return s.tooLittle(free, need)
	}
	s.at, s.budget = time.Now(), lookBytes
	return nil
}

// wrote takes note of a commit.
func (s *space) wrote(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.budget -= bytes
}

// toOpen returns nil or an [ErrNoSpace]: opening turns logs into tables. It
// needs much less than the reserve, so a full store can still be read.
func (s *space) toOpen() error {
	if s.reserve == 0 {
		return nil
	}
	need := int64(openRoom)
	logs, err := filesOf(s.dir, ".mem")
	for _, log := range logs {
		if info, err := os.Stat(log); err == nil {
			need += allocated(info)
		}
	}
	if err != nil {
		return err
	}
	if free, known := s.free(s.dir); known && free < need {
		return s.tooLittle(free, need)
	}
	return nil
}

func (s *space) tooLittle(free, need int64) error {
	return fmt.Errorf("%w: %s has %d MiB left, %d MiB must be left; free some space there", ErrNoSpace, s.dir, free>>20, (need+1<<20-1)>>20)
}

// toMerge is how much Badger may write before it deletes what it has merged:
// the newest tables and the level that they go into, at most as they are.
func toMerge(db *badger.DB) (bytes int64) {
	for _, level := range db.Levels() {
		if level.Level == 0 || level.IsBaseLevel {
			bytes += level.Size
		}
	}
	return bytes
}

// sizeOf is what the files of dir take of the disk.
func sizeOf(dir string) (bytes int64) {
	entries, _ := os.ReadDir(dir) // what cannot be read is not known
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			bytes += allocated(info)
		}
	}
	return bytes
}
