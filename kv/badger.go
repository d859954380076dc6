package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Open opens the store in directory dir and makes the directory if it is not
// there. One process at a time can have it open: for another one Open fails at
// once with a [LockedError]. Opts may be nil.
//
// A store that returned [ErrStoreBroken] is opened again with Open after its
// Close.
func Open(dir string, opts *Options) (Store, error) {
	o := opts.withDefaults()
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("kv: open store: %w", err)
	}
	db, err := badger.OpenManaged(badgerOptions(dir, o))
	if err != nil {
		if locked := lockError(dir, err); locked != nil {
			return nil, locked
		}
		return nil, fmt.Errorf("kv: open store %s: %w", dir, err)
	}
	if err := syncRecovered(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("kv: open store %s: %w", dir, err), db.Close())
	}
	return newBadgerStore(dir, db, o), nil
}

// badgerStore is the [Store] on a local directory.
type badgerStore struct {
	dir       string
	db        *badger.DB
	logger    *slog.Logger
	snapshots *snapshots
	committer *committer

	broken    atomic.Pointer[error] // why nothing works any more
	closeOnce sync.Once
}

func newBadgerStore(dir string, db *badger.DB, o Options) *badgerStore {
	s := &badgerStore{
		dir:       dir,
		db:        db,
		logger:    o.Logger,
		snapshots: newSnapshots(db.MaxVersion(), db.SetDiscardTs),
	}
	s.committer = startCommitter(s, o.Linger)
	return s
}

// View implements [Store].
func (s *badgerStore) View(f func(View) error) error {
	number, err := s.snapshots.begin()
	if err != nil {
		return err
	}
	defer s.snapshots.end(number)
	if err := s.health(); err != nil {
		return err
	}
	v := &badgerView{store: s, txn: s.db.NewTransactionAt(number, false)}
	defer v.close()
	return f(v)
}

// Commit implements [Store].
func (s *badgerStore) Commit(b *Batch) Pending { return s.committer.add(b) }

// Exclusive implements [Store]: the directory lock sees to it.
func (s *badgerStore) Exclusive() bool { return true }

// Close implements [Store]. It waits for running views, so it must not be
// called from one. The error of a broken store is [ErrStoreBroken].
func (s *badgerStore) Close() error {
	err := ErrClosed
	s.closeOnce.Do(func() {
		s.committer.close()
		s.snapshots.close()
		err = s.closeBadger()
	})
	return err
}

// closePatience is how long Close waits for Badger when the store is broken:
// Badger tries forever to write down what it holds in memory.
const closePatience = 5 * time.Second

func (s *badgerStore) closeBadger() error {
	broken := s.health()
	if broken == nil {
		return s.db.Close()
	}
	done := make(chan error, 1)
	go func() { done <- s.db.Close() }()
	select {
	case err := <-done:
		return errors.Join(broken, err)
	case <-time.After(closePatience):
		return fmt.Errorf("%w (%s stays locked until this process ends: Badger cannot write)", broken, s.dir)
	}
}

// health returns nil or why the store is broken.
func (s *badgerStore) health() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// poison makes everything fail from now on. The first cause is kept.
func (s *badgerStore) poison(cause error) error {
	err := fmt.Errorf("%w: %w", ErrStoreBroken, cause)
	if s.broken.CompareAndSwap(nil, &err) {
		s.logger.Error("store broken", attrDir, s.dir, attrError, cause)
	}
	return s.health()
}

// guard turns a panic of Badger into a broken store. After a failed write
// Badger can be left without a memtable, and then even its reads panic.
func (s *badgerStore) guard(err *error) {
	if r := recover(); r != nil {
		*err = s.poison(fmt.Errorf("badger: %v", r))
	}
}

// makeDir makes dir and what is missing above it, and makes that durable:
// commits are of no use in a directory that a power cut takes away.
func makeDir(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var parents []string
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := syncFile(parent); err != nil {
			return err
		}
	}
	return nil
}

// syncRecovered makes durable what Badger just read from its logs. A process
// that was killed between writing a commit and syncing it leaves the commit in
// the page cache, where Open sees it although a power cut would still take it.
// A log that is gone by now has become a table, which Badger has synced.
func syncRecovered(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
	if err != nil {
		return err
	}
	for _, log := range append(logs, dir) {
		if err := syncFile(log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// syncFile syncs a file or a directory.
func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
