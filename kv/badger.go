package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Open opens the store in directory dir and makes the directory if it is not
// there. One process at a time can have it open: for another one Open fails at
// once with a [LockedError]. Opts may be nil.
//
// Open reads all tables of the store. If one is damaged it changes nothing and
// fails with a [DamageError].
//
// A store that returned [ErrStoreBroken] is opened again with Open after its
// Close.
func Open(dir string, opts *Options) (Store, error) {
	o := opts.withDefaults()
	lock, err := openDir(dir, badgerOptions(dir, o))
	if errors.Is(err, ErrStoreLocked) || errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("kv: open store %s: %w", dir, err)
	}
	db, err := openBadger(dir, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("kv: open store %s: %w", dir, err), lock.release())
	}
	return newBadgerStore(lock, db, o), nil
}

// openDir makes and locks the directory, checks it and prepares it for Badger.
func openDir(dir string, opts badger.Options) (*dirLock, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	err = checkTables(dir, opts)
	if err == nil {
		err = removeEmptyLogs(dir)
	}
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return lock, nil
}

func openBadger(dir string, o Options) (*badger.DB, error) {
	db, err := badger.OpenManaged(badgerOptions(dir, o))
	if err != nil {
		return nil, err
	}
	if err := syncRecovered(dir); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// badgerStore is the [Store] on a local directory.
type badgerStore struct {
	lock      *dirLock
	db        *badger.DB
	logger    *slog.Logger
	snapshots *snapshots
	committer *committer
	trimmer   *trimmer

	broken    atomic.Pointer[error] // why nothing works any more
	closeOnce sync.Once
}

func newBadgerStore(lock *dirLock, db *badger.DB, o Options) *badgerStore {
	s := &badgerStore{
		lock:      lock,
		db:        db,
		logger:    o.Logger,
		snapshots: newSnapshots(db.MaxVersion(), db.SetDiscardTs),
	}
	s.committer = startCommitter(s, o.Linger)
	s.trimmer = startTrimmer(lock.dir, o.Logger)
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
		s.trimmer.close()
		err = s.closeBadger()
	})
	return err
}

// closePatience is how long Close waits for Badger when the store is broken:
// Badger tries forever to write down what it holds in memory.
const closePatience = 3 * time.Second

func (s *badgerStore) closeBadger() error {
	broken := s.health()
	if broken == nil {
		return errors.Join(s.db.Close(), s.lock.release())
	}
	done := make(chan error, 1)
	go func() { done <- s.db.Close() }()
	select {
	case err := <-done:
		return errors.Join(broken, err, s.lock.release())
	case <-time.After(closePatience):
		return fmt.Errorf("%w (%s stays locked until this process ends: Badger cannot write)", broken, s.lock.dir)
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
		s.logger.Error("store broken", attrDir, s.lock.dir, attrError, cause)
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
