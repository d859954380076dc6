package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
)

var errViewOver = errors.New("kv: view used after its function returned")

// badgerView is the [View] of a badgerStore.
type badgerView struct {
	store *badgerStore
	txn   *badger.Txn
	over  bool
}

func (v *badgerView) close() {
	v.over = true
	v.txn.Discard()
}

func (v *badgerView) usable() error {
	if v.over {
		return errViewOver
	}
	return v.store.health()
}

// Get implements [View].
func (v *badgerView) Get(key []byte) ([]byte, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	return v.store.get(v.txn, key)
}

// get reads key in a transaction.
func (s *badgerStore) get(txn *badger.Txn, key []byte) (value []byte, err error) {
	defer s.guard(&err)
	if len(key) > maxKey {
		return nil, ErrNotFound
	}
	item, err := txn.Get(userKey(key))
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("kv: read %q: %w", key, err)
	}
	return readItem(key, item)
}

func readItem(key []byte, item *badger.Item) ([]byte, error) {
	stored, err := item.ValueCopy(nil)
	if err != nil {
		return nil, fmt.Errorf("kv: read %q: %w", key, err)
	}
	return openRecord(key, stored)
}

// Scan implements [View].
func (v *badgerView) Scan(r Range) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		if err := v.usable(); err != nil {
			yield(Item{}, err)
			return
		}
		c, err := v.open(r)
		if err != nil {
			yield(Item{}, err)
			return
		}
		defer c.it.Close()
		for {
			item, ok, err := c.next()
			if err != nil {
				yield(Item{}, err)
				return
			}
			if !ok || !yield(item, nil) {
				return
			}
		}
	}
}

// cursor goes over a range.
type cursor struct {
	view   *badgerView
	it     *badger.Iterator
	prefix []byte // Badger's key of Range.Prefix
	r      Range
	begun  bool
}

func (v *badgerView) open(r Range) (c *cursor, err error) {
	defer v.store.guard(&err)
	c = &cursor{view: v, prefix: userKey(r.Prefix), r: r}
	opts := badger.IteratorOptions{Reverse: r.Reverse}
	if !r.Reverse {
		// Backwards the iterator begins behind the prefix, where this option
		// would end it at once.
		opts.Prefix = c.prefix
	}
	c.it = v.txn.NewIterator(opts)
	return c, nil
}

// next returns the next item of the range, or false at its end.
func (c *cursor) next() (item Item, ok bool, err error) {
	defer c.view.store.guard(&err)
	if err := c.view.usable(); err != nil {
		return Item{}, false, err
	}
	c.move()
	if !c.it.ValidForPrefix(c.prefix) {
		return Item{}, false, nil
	}
	found := c.it.Item()
	item.Key = append([]byte{}, found.Key()[1:]...)
	if c.r.KeysOnly {
		return item, true, nil
	}
	item.Value, err = readItem(item.Key, found)
	if err != nil {
		return Item{}, false, err
	}
	return item, true, nil
}

func (c *cursor) move() {
	if c.begun {
		c.it.Next()
		return
	}
	c.begun = true
	if !c.r.Reverse {
		c.it.Seek(c.forwardStart())
		return
	}
	start, inclusive := c.reverseStart()
	c.it.Seek(start)
	if !inclusive && c.it.Valid() && bytes.Equal(c.it.Item().Key(), start) {
		c.it.Next()
	}
}

func (c *cursor) forwardStart() []byte {
	if from := userKey(c.r.From); c.r.From != nil && bytes.Compare(from, c.prefix) > 0 {
		return from
	}
	return c.prefix
}

// reverseStart returns where a backward range begins, and whether that key
// belongs to it.
func (c *cursor) reverseStart() (start []byte, inclusive bool) {
	end := after(c.prefix)
	if from := userKey(c.r.From); c.r.From != nil && bytes.Compare(from, end) < 0 {
		return from, true
	}
	return end, false
}

// after returns the first key behind all keys with the prefix, whose first
// byte is a space and so not 0xFF.
func after(prefix []byte) []byte {
	end := append([]byte{}, prefix...)
	for end[len(end)-1] == 0xFF {
		end = end[:len(end)-1]
	}
	end[len(end)-1]++
	return end
}
