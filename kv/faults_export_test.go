package kv

import (
	"errors"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// Faults are what a test does to a store from below.
type Faults struct {
	store *badgerStore
	// FailNext makes the next physical commit fail.
	FailNext atomic.Bool
	// Lost says that a commit fails before anything is written, instead of
	// when Badger has made it durable.
	Lost bool
	full atomic.Bool
}

var errFault = errors.New("input/output error")

// OpenWithFaults opens a store that f can make fail.
func OpenWithFaults(dir string, opts Options, f *Faults) (Store, error) {
	opts.free = func(dir string) (int64, bool) {
		if f.full.Load() {
			return 0, true
		}
		return freeBytes(dir)
	}
	store, err := Open(dir, &opts)
	if err != nil {
		return nil, err
	}
	f.store = store.(*badgerStore)
	real := f.store.committer.commit
	// The committer reads the field only when there is something to commit.
	f.store.committer.commit = func(txn *badger.Txn, number uint64) error {
		fails := f.FailNext.CompareAndSwap(true, false)
		if fails && f.Lost {
			return errFault
		}
		if err := real(txn, number); err != nil || !fails {
			return err
		}
		return errFault
	}
	return store, nil
}

// Fill takes the free space away, or gives it back.
func (f *Faults) Fill(full bool) {
	f.full.Store(full)
	f.store.space.mu.Lock()
	defer f.store.space.mu.Unlock()
	f.store.space.budget = 0 // look again
}
