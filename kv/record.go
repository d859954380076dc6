package kv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Badger's keys are those of the store behind one byte that says whose they
// are. So no key of a caller can be one of Badger's own ("!badger!..."), be
// empty, or meet one of the store's.
const (
	spaceStore = 0x00
	spaceUser  = 0x01
)

// markerKey holds the number of the last physical commit. Every commit writes
// it, so Badger's highest version, which is that number, never falls when a
// compaction drops the tombstones of the last one.
var markerKey = []byte{spaceStore, 'n'}

func userKey(key []byte) []byte {
	out := make([]byte, 1, 1+len(key))
	out[0] = spaceUser
	return append(out, key...)
}

const (
	recordVersion = 1
	// expiringVersion is that of a record whose key expires.
	expiringVersion = 2
	recordHeader    = 1 + 4 // version, checksum
	expiresSize     = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is the checksum of a record: over its version, the length of its
// key, its key and what follows the checksum.
func recordSum(version byte, key, rest []byte) uint32 {
	var head [5]byte
	head[0] = version
	binary.BigEndian.PutUint32(head[1:], uint32(len(key)))
	sum := crc32.Update(0, castagnoli, head[:])
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, rest)
}

// sealRecord returns what is stored for value under key, which expires at a
// time in Unix seconds unless that is 0.
func sealRecord(key, value []byte, expires uint64) []byte {
	out := make([]byte, recordHeader, recordHeader+expiresSize+len(value))
	out[0] = recordVersion
	if expires > 0 {
		out[0] = expiringVersion
		out = binary.BigEndian.AppendUint64(out, expires)
	}
	out = append(out, value...)
	binary.BigEndian.PutUint32(out[1:], recordSum(out[0], key, out[recordHeader:]))
	return out
}

// openRecord returns the value of what is stored under key, and when it
// expires or 0. It shares the bytes of stored.
func openRecord(key, stored []byte) (value []byte, expires uint64, err error) {
	if len(stored) < recordHeader {
		return nil, 0, corrupt(key, "record of %d bytes is too short", len(stored))
	}
	version, rest := stored[0], stored[recordHeader:]
	if version != recordVersion && version != expiringVersion {
		return nil, 0, corrupt(key, "unknown record version %d", version)
	}
	if binary.BigEndian.Uint32(stored[1:]) != recordSum(version, key, rest) {
		return nil, 0, corrupt(key, "checksum does not fit")
	}
	if version == recordVersion {
		return rest, 0, nil
	}
	if len(rest) < expiresSize {
		return nil, 0, corrupt(key, "record of %d bytes is too short", len(stored))
	}
	if expires = binary.BigEndian.Uint64(rest); expires == 0 {
		return nil, 0, corrupt(key, "expiring record without a time")
	}
	return rest[expiresSize:], expires, nil
}

func corrupt(key []byte, format string, args ...any) error {
	return &CorruptError{Key: append([]byte{}, key...), Reason: fmt.Sprintf(format, args...)}
}
