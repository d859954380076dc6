package kv

import (
	"encoding/binary"
	"errors"
)

// ReadHead returns the head of the chain under prefix, or [ErrNotFound].
func ReadHead(v View, prefix []byte) (Head, error) {
	key := headKey(prefix)
	value, err := v.Get(key)
	if err != nil {
		return Head{}, err
	}
	return decodeHead(key, value)
}

// ReadChain returns all entries of the chain under prefix in order, and its
// head. They are compared: entries 1 to Head.Seq are there and no others, and
// the hash over them is that of the head; else the error is a [CorruptError]
// that names the first key that does not fit. If there is no chain the error is
// [ErrNotFound].
func ReadChain(v View, prefix []byte) ([]Entry, Head, error) {
	head, err := ReadHead(v, prefix)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return nil, Head{}, err
	}
	missing := err != nil
	var entries []Entry
	var at Head
	for item, err := range v.Scan(Range{Prefix: chainKey(prefix, 'e')}) {
		switch {
		case err != nil:
			return nil, Head{}, err
		case missing:
			return nil, Head{}, corrupt(headKey(prefix), "head is missing, entries are there")
		}
		if err := follows(at.Seq, head.Seq, prefix, item.Key); err != nil {
			return nil, Head{}, err
		}
		at = at.next(item.Value)
		entries = append(entries, Entry{Seq: at.Seq, Value: item.Value})
	}
	switch {
	case missing:
		return nil, Head{}, ErrNotFound
	case at.Seq != head.Seq:
		return nil, Head{}, corrupt(entryKey(prefix, at.Seq+1), "entry is missing, the head is at %d", head.Seq)
	case at.Hash != head.Hash:
		return nil, Head{}, corrupt(headKey(prefix), "running hash does not fit the entries")
	}
	return entries, head, nil
}

// follows reports whether key is that of the entry behind seq in a chain of
// last entries.
func follows(seq, last uint64, prefix, key []byte) error {
	id := key[len(prefix)+1:]
	if len(id) != 8 {
		return corrupt(key, "not the key of an entry")
	}
	switch got := binary.BigEndian.Uint64(id); {
	case got > last || got == 0:
		return corrupt(key, "entry is not covered by the head, which is at %d", last)
	case got != seq+1:
		return corrupt(entryKey(prefix, seq+1), "entry is missing, the next one is %d", got)
	}
	return nil
}

// ReadBody returns the payload of a body of the chain under prefix. Size and
// hash are checked; if they do not fit or a part is missing, the error is a
// [CorruptError]. The caller owns the bytes, except that those of an inline
// body are shared with it.
func ReadBody(v View, prefix []byte, b Body) ([]byte, error) {
	if b.Hash == nil {
		return b.Inline, nil
	}
	payload, err := ReadBlob(v, prefix, *b.Hash, b.Size)
	if errors.Is(err, ErrNotFound) {
		return nil, corrupt(chunkKey(prefix, *b.Hash, 0), "chunk is missing")
	}
	return payload, err
}
