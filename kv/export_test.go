package kv

import (
	"encoding/binary"
	"hash/crc32"
)

// Resealed gives the bytes of an anchor the checksum that fits them.
func Resealed(data []byte) []byte {
	binary.BigEndian.PutUint32(data[anchorHeader:], crc32.Checksum(data[:anchorHeader], castagnoli))
	return data
}
