package kv

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// Whatever a manifest holds, no whole record is cut off it, and what is cut off
// ends in zeros: the damage that anything else is stays to be found.
func FuzzTornRecord(f *testing.F) {
	record := func(text string) []byte {
		data := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
		data = binary.BigEndian.AppendUint32(data, crc32.Checksum([]byte(text), castagnoli))
		return append(data, text...)
	}
	f.Add([]byte("torn"), []byte{0, 0, 0, 4, 1, 2, 3, 4, 9, 9, 0, 0})
	f.Add([]byte("damaged"), []byte{0, 0, 0, 4, 1, 2, 3, 4, 9, 9, 9, 0})
	f.Add([]byte("whole"), record("too"))
	f.Add([]byte("long"), []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	f.Add([]byte("short"), []byte{0, 0})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, whole, rest []byte) {
		data := append([]byte("BdgrXXXX"), record(string(whole))...)
		kept := len(data)
		data = append(data, rest...)
		// Seen red with a record cut off whatever is at its end.
		at, torn := tornRecord(data)
		if at < kept || at > len(data) {
			t.Fatalf("of %d bytes %d are kept, of which %d are whole", len(data), at, kept)
		}
		if torn && (len(data) < at+10 || data[len(data)-1] != 0 || data[len(data)-2] != 0) {
			t.Errorf("%x is cut off, which was written whole or is damage", data[at:])
		}
	})
}
