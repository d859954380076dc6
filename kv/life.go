package kv

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// life is one opening of Badger. A store begins another one when it is
// reopened; what belongs to a broken life fails with it.
type life struct {
	dir       string // for people
	path      string // see [dirLock]
	logger    *slog.Logger
	db        *badger.DB
	snapshots *snapshots
	silence   *silence

	broken atomic.Pointer[error] // why nothing works any more

	inspecting sync.Mutex             // guards used
	used       func() map[uint64]bool // which tables Badger uses

	ending sync.Once
	idle   chan struct{} // closed when no view and no commit uses Badger any more
	ended  chan struct{} // closed when Badger is closed; err is valid then
	err    error
}

// newLife begins numbering behind Badger's last commit and behind floor.
func newLife(lock *dirLock, db *badger.DB, floor uint64, log *badgerLog) *life {
	l := &life{
		dir:       lock.dir,
		path:      lock.path,
		logger:    log.logger,
		db:        db,
		snapshots: newSnapshots(max(db.MaxVersion(), floor), db.SetDiscardTs),
		silence:   newSilence(db, lock.path),
		idle:      make(chan struct{}),
		ended:     make(chan struct{}),
		used:      func() map[uint64]bool { return tablesOf(db) },
	}
	log.life.Store(l)
	if log.early.Load() {
		l.inspect()
	}
	return l
}

// health returns nil or why this life is broken.
func (l *life) health() error {
	if err := l.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// poison makes everything fail from now on. The first cause is kept.
func (l *life) poison(cause error) error {
	err := fmt.Errorf("%w: %w", ErrStoreBroken, cause)
	if l.broken.CompareAndSwap(nil, &err) {
		l.logger.Error("store broken", attrDir, l.dir, attrError, cause)
	}
	return l.health()
}

// guard turns a panic of Badger into a broken store. After a failed write
// Badger can be left without a memtable, and then even its reads panic.
func (l *life) guard(err *error) {
	if r := recover(); r != nil {
		*err = l.poison(fmt.Errorf("badger: %v", r))
	}
}

// end lets nobody in any more and closes Badger as soon as nobody uses it:
// before, it would unmap what a view reads. It returns at once; see idle and
// ended. It may be called again.
func (l *life) end() {
	l.ending.Do(func() {
		go func() {
			defer close(l.ended)
			l.snapshots.close()
			close(l.idle)
			defer l.guard(&l.err)
			l.lastInspection(func() { l.err = l.db.Close() })
		}()
	})
}
