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

// maxKey is the size in bytes of the longest key; Badger takes 65,000.
const maxKey = 64_000

func userKey(key []byte) []byte {
	out := make([]byte, 1, 1+len(key))
	out[0] = spaceUser
	return append(out, key...)
}

const (
	recordVersion = 1
	recordHeader  = 1 + 4 // version, checksum
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordSum is the checksum of a record: over its version, the length of its
// key, its key and its value.
func recordSum(version byte, key, value []byte) uint32 {
	var head [5]byte
	head[0] = version
	binary.BigEndian.PutUint32(head[1:], uint32(len(key)))
	sum := crc32.Update(0, castagnoli, head[:])
	sum = crc32.Update(sum, castagnoli, key)
	return crc32.Update(sum, castagnoli, value)
}

// sealRecord returns what is stored for value under key.
func sealRecord(key, value []byte) []byte {
	out := make([]byte, recordHeader, recordHeader+len(value))
	out[0] = recordVersion
	binary.BigEndian.PutUint32(out[1:], recordSum(recordVersion, key, value))
	return append(out, value...)
}

// openRecord returns the value of what is stored under key. It shares the
// bytes of stored.
func openRecord(key, stored []byte) ([]byte, error) {
	if len(stored) < recordHeader {
		return nil, corrupt(key, "record of %d bytes is too short", len(stored))
	}
	if stored[0] != recordVersion {
		return nil, corrupt(key, "unknown record version %d", stored[0])
	}
	value := stored[recordHeader:]
	if binary.BigEndian.Uint32(stored[1:]) != recordSum(stored[0], key, value) {
		return nil, corrupt(key, "checksum does not fit")
	}
	return value, nil
}

func corrupt(key []byte, format string, args ...any) error {
	return &CorruptError{Key: append([]byte{}, key...), Reason: fmt.Sprintf(format, args...)}
}
