package kv

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/dgraph-io/badger/v4"
)

var errViewOver = errors.New("kv: view used after its function returned")

// reader reads in a transaction, at one moment of the clock by which keys
// expire: no key expires in the middle of a view or of a merge.
type reader struct {
	life *life
	txn  *badger.Txn
	now  uint64
}

// get returns the value of key, or [ErrNotFound].
func (r *reader) get(key []byte) (value []byte, err error) {
	defer r.life.guard(&err)
	if len(key) > MaxKey {
		return nil, ErrNotFound
	}
	item, err := r.txn.Get(userKey(key))
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		if err := r.life.silence.checkKey(key, 0); err != nil {
			return nil, err
		}
		return nil, ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("kv: read %q: %w", key, err)
	}
	if err := r.life.silence.checkKey(key, item.Version()); err != nil {
		return nil, err
	}
	return r.value(key, item)
}

// value returns the value of an item, or [ErrNotFound] if it has expired.
func (r *reader) value(key []byte, item *badger.Item) ([]byte, error) {
	stored, err := item.ValueCopy(nil)
	if err != nil {
		return nil, fmt.Errorf("kv: read %q: %w", key, err)
	}
	value, expires, err := openRecord(key, stored)
	if err == nil && expires > 0 && expires <= r.now {
		return nil, ErrNotFound
	}
	return value, err
}

// badgerView is the [View] of a badgerStore.
type badgerView struct {
	life   *life
	reader reader
	over   bool
}

func (v *badgerView) close() {
	v.over = true
	v.reader.txn.Discard()
}

func (v *badgerView) usable() error {
	if v.over {
		return errViewOver
	}
	return v.life.health()
}

// Get implements [View].
func (v *badgerView) Get(key []byte) ([]byte, error) {
	if err := v.usable(); err != nil {
		return nil, err
	}
	return v.reader.get(key)
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
	defer v.life.guard(&err)
	c = &cursor{view: v, prefix: userKey(r.Prefix), r: r}
	opts := badger.IteratorOptions{Reverse: r.Reverse}
	if !r.Reverse {
		// Backwards the iterator begins behind the prefix, where this option
		// would end it at once.
		opts.Prefix = c.prefix
	}
	c.it = v.reader.txn.NewIterator(opts)
	return c, nil
}

// next returns the next item of the range, or false at its end.
func (c *cursor) next() (item Item, ok bool, err error) {
	defer c.view.life.guard(&err)
	if err := c.view.usable(); err != nil {
		return Item{}, false, err
	}
	for c.move(); c.it.ValidForPrefix(c.prefix); c.move() {
		found := c.it.Item()
		item.Key = append([]byte{}, found.Key()[1:]...)
		if c.r.KeysOnly && found.ExpiresAt() == 0 {
			return item, true, nil
		}
		item.Value, err = c.view.reader.value(item.Key, found)
		switch {
		case errors.Is(err, ErrNotFound): // expired
			continue
		case err != nil:
			return Item{}, false, err
		}
		if c.r.KeysOnly {
			item.Value = nil
		}
		return item, true, nil
	}
	return Item{}, false, c.view.life.silence.checkSpan(c.r.Prefix, c.span())
}

// span is what the range asks for.
func (c *cursor) span() span {
	if c.r.Reverse {
		start, _ := c.reverseStart()
		return span{c.prefix, start}
	}
	return span{c.forwardStart(), after(c.prefix)}
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
