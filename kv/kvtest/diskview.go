package kvtest

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

var errViewOver = errors.New("kvtest: view used after its function returned")

// diskView is the [kv.View] of a diskStore.
type diskView struct {
	store *diskStore
	table table
	now   time.Time
	over  bool
}

// View implements [kv.Store].
func (s *diskStore) View(f func(kv.View) error) error {
	s.disk.mu.Lock()
	if err := s.healthLocked(); err != nil {
		s.disk.mu.Unlock()
		return err
	}
	v := &diskView{store: s, table: s.disk.durable, now: s.disk.now}
	s.disk.mu.Unlock()
	defer func() { v.over = true }()
	return f(v)
}

// read reports why key cannot be read. A view that began before its store was
// closed may be read to its end.
func (v *diskView) read(key []byte) error {
	d := v.store.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.over {
		return errViewOver
	}
	if v.store.broken != nil {
		return v.store.broken
	}
	return d.readable(key)
}

// Get implements [kv.View].
func (v *diskView) Get(key []byte) ([]byte, error) {
	if err := v.read(key); err != nil {
		return nil, err
	}
	value, there := v.table.get(key, v.now)
	if !there {
		return nil, kv.ErrNotFound
	}
	return append([]byte{}, value...), nil
}

// Scan implements [kv.View].
func (v *diskView) Scan(r kv.Range) iter.Seq2[kv.Item, error] {
	from, to := v.table.within(r)
	items := v.table.items[from:to]
	if r.Reverse {
		items = slices.Clone(items)
		slices.Reverse(items)
	}
	prefix := bytes.Clone(r.Prefix)
	return func(yield func(kv.Item, error) bool) {
		if err := v.read(prefix); err != nil {
			yield(kv.Item{}, err)
			return
		}
		for _, i := range items {
			if !i.at(v.now) {
				continue
			}
			if err := v.read(i.key); err != nil {
				yield(kv.Item{}, err)
				return
			}
			found := kv.Item{Key: append([]byte{}, i.key...)}
			if !r.KeysOnly {
				found.Value = append([]byte{}, i.value...)
			}
			if !yield(found, nil) {
				return
			}
		}
	}
}
