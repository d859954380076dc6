package kv

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Open opens the store in directory dir and makes the directory if it is not
// there. One process at a time can have it open: for another one Open fails
// with a [LockedError], at once or after [Options.WaitLock]. Opts may be nil.
//
// Open reads all tables of the store. If one is damaged it changes nothing and
// fails with a [DamageError]. If there is not even the space that opening needs
// it fails with [ErrNoSpace]. A store that is a copy, a restored directory, or
// lacks commits opens as [Held].
func Open(dir string, opts *Options) (Store, error) {
	o := opts.withDefaults()
	s, err := open(dir, o)
	if errors.Is(err, ErrStoreLocked) || errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("kv: open store %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, o Options) (*badgerStore, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	lock, err := waitLock(dir, o.WaitLock)
	if err != nil {
		return nil, err
	}
	s := &badgerStore{
		opts:     o,
		logger:   o.Logger,
		lock:     lock,
		space:    newSpace(lock.path, o),
		clock:    newClock(),
		watchers: newWatchers(),
		leases:   newLeases(),
		turn:     make(chan struct{}, 1),
	}
	first, err := s.begin(0)
	if err != nil {
		return nil, errors.Join(err, s.anchor.close(), lock.release())
	}
	s.life.Store(first)
	s.trimmer = startTrimmer(dir, o.Logger)
	s.committer = startCommitter(s, o.Linger, first.db)
	return s, nil
}

// badgerStore is the [Store] on a local directory.
type badgerStore struct {
	opts      Options
	logger    *slog.Logger
	lock      *dirLock
	anchor    *anchor
	held      atomic.Pointer[string] // why the store is held, or nil
	space     *space
	clock     *clock
	watchers  *watchers
	leases    *leases
	committer *committer
	trimmer   *trimmer

	life    atomic.Pointer[life]
	turn    chan struct{} // capacity 1: whoever fills it reopens or closes
	closing atomic.Bool   // set by Close, for good
}

// begin checks the directory, opens Badger on it and compares what it found
// with the anchor. Numbers go on behind floor. What is damaged is refused
// before anything in the directory is changed but what a power cut left torn and what
// Badger has taken back.
func (s *badgerStore) begin(floor uint64) (*life, error) {
	dir := s.lock.dir
	if err := s.lock.moved(); err != nil {
		return nil, err
	}
	if err := cutStump(dir); err != nil {
		return nil, err
	}
	if err := cutTornRecord(dir); err != nil {
		return nil, err
	}
	if err := dropTakenBack(dir); err != nil {
		return nil, err
	}
	if err := checkKeys(dir); err != nil {
		return nil, err
	}
	if err := checkTables(dir, badgerOptions(dir, s.opts)); err != nil {
		return nil, err
	}
	why, err := s.identify()
	if err != nil {
		return nil, err
	}
	if err := s.space.toOpen(); err != nil {
		return nil, err
	}
	if err := errors.Join(removeEmptyLogs(dir), syncLogs(dir)); err != nil {
		return nil, err
	}
	log := &badgerLog{logger: s.logger}
	db, err := badger.OpenManaged(badgerOptions(s.lock.path, s.opts).WithLogger(log))
	if err != nil {
		return nil, s.lock.named(err)
	}
	last := db.MaxVersion()
	if last < s.anchor.number {
		why = append(why, fmt.Sprintf("It lacks the last commits that were durable (it ends with %d, there were %d): "+
			"a log was damaged or an older one was put in its place", last, s.anchor.number))
	}
	if err := s.hold(why, last); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.space.merging(func() int64 { return toMerge(db) })
	return newLife(s.lock, db, max(floor, s.anchor.number), log), nil
}

// View implements [Store].
func (s *badgerStore) View(f func(View) error) error {
	l := s.life.Load()
	number, err := l.snapshots.begin()
	if err != nil {
		return s.gone(l)
	}
	defer l.snapshots.end(number)
	defer s.trimmer.look()
	if err := l.health(); err != nil {
		return err
	}
	v := &badgerView{life: l, reader: reader{l, l.db.NewTransactionAt(number, false), s.clock.now()}}
	defer v.close()
	return f(v)
}

// gone is the error of somebody who came to a life that had ended.
func (s *badgerStore) gone(l *life) error {
	if s.closing.Load() {
		return ErrClosed
	}
	return l.health()
}

// Commit implements [Store].
func (s *badgerStore) Commit(b *Batch) Pending { return s.committer.add(b) }

// Exclusive implements [Store]: the directory lock sees to it.
func (s *badgerStore) Exclusive() bool { return true }

// lockPoll is how often a lock that another process has is tried.
const lockPoll = 20 * time.Millisecond

// waitLock takes the lock of dir within patience, or returns a [LockedError].
func waitLock(dir string, patience time.Duration) (*dirLock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(lockPoll) {
		lock, err := lockDir(dir)
		if !errors.Is(err, ErrStoreLocked) || !time.Now().Before(end) {
			return lock, err
		}
	}
}
