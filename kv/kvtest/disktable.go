package kvtest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// table is what is stored, in the order of the keys. What a view or a disk
// holds is never changed: a commit changes a copy.
type table struct {
	items []item
}

type item struct {
	key, value []byte
	expires    time.Time // zero: never
}

func (i item) at(now time.Time) bool { return i.expires.IsZero() || now.Before(i.expires) }

func (t table) clone() table {
	return table{append(make([]item, 0, len(t.items)+8), t.items...)}
}

// find returns where key is or would be.
func (t table) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(t.items, key, func(i item, key []byte) int { return bytes.Compare(i.key, key) })
}

// get returns the value of key at a time. It is not the caller's.
func (t table) get(key []byte, now time.Time) ([]byte, bool) {
	if i, ok := t.find(key); ok && t.items[i].at(now) {
		return t.items[i].value, true
	}
	return nil, false
}

// meets returns nil or which requirement of the batch does not hold.
func (t table) meets(b *kv.Batch, now time.Time) error {
	for _, r := range b.Requirements {
		value, there := t.get(r.Key, now)
		if there != (r.Value != nil) || !bytes.Equal(value, r.Value) {
			return fmt.Errorf("%w: key %q", kv.ErrRequirement, r.Key)
		}
	}
	return nil
}

func (t *table) apply(b *kv.Batch) {
	for _, c := range b.Changes {
		t.set(c)
	}
}

func (t *table) set(c kv.Change) {
	i, there := t.find(c.Key)
	switch {
	case c.Delete && there:
		t.items = slices.Delete(t.items, i, i+1)
	case c.Delete:
	case there:
		t.items[i] = item{c.Key, c.Value, c.Expires}
	default:
		t.items = slices.Insert(t.items, i, item{c.Key, c.Value, c.Expires})
	}
}

// within returns where the items of a range begin and end.
func (t table) within(r kv.Range) (from, to int) {
	from, _ = t.find(r.Prefix)
	to = from
	for to < len(t.items) && bytes.HasPrefix(t.items[to].key, r.Prefix) {
		to++
	}
	if r.From == nil {
		return from, to
	}
	at, there := t.find(r.From)
	if !r.Reverse {
		return min(max(from, at), to), to
	}
	if there {
		at++
	}
	return from, max(from, min(to, at))
}

func (t table) size() (n int64) {
	for _, i := range t.items {
		n += int64(len(i.key) + len(i.value))
	}
	return n
}
