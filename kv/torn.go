package kv

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
)

// cutTornRecord takes the last record off the manifest in dir if the power
// failed before it was synced: a file may have its new length and zeros for what
// was not written. Badger cuts off a record that is too short, and takes one that
// ends in zeros for damage. What it was to tell is not lost: logs and tables that
// a record makes superfluous are deleted behind its sync. The directory must be
// locked.
func cutTornRecord(dir string) error {
	name, data, err := manifestOf(dir)
	if err != nil {
		return err
	}
	at, torn := tornRecord(data)
	if !torn {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = f.Truncate(int64(at)); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// tornRecord returns where the first record that does not fit its checksum
// begins, if it is the last one and zeros are all that is at its end and behind
// it. No record ends in a zero by itself, and one flipped byte makes one zero at
// most, so two are asked for.
func tornRecord(data []byte) (at int, torn bool) {
	const zeros = 2
	for at = manifestMagic; ; {
		end, whole := recordAt(data, at)
		switch {
		case whole:
			at = end
			continue
		case end == 0:
			return at, false // Badger's to cut off, or damage
		}
		for _, b := range data[max(at+manifestHeader, end-zeros):] {
			if b != 0 {
				return at, false
			}
		}
		return at, end-at-manifestHeader >= zeros
	}
}

// The manifest is a magic word and a version, and records, each with its length
// and checksum before it.
const manifestMagic, manifestHeader = 8, 8

// recordAt returns where the record of the manifest that begins at a byte ends,
// 0 if that is behind the file's end, and whether it fits its checksum.
func recordAt(data []byte, at int) (end int, whole bool) {
	if at+manifestHeader > len(data) {
		return 0, false
	}
	size := uint64(binary.BigEndian.Uint32(data[at:]))
	if size > uint64(len(data)-at-manifestHeader) {
		return 0, false
	}
	end = at + manifestHeader + int(size)
	return end, crc32.Checksum(data[at+manifestHeader:end], castagnoli) == binary.BigEndian.Uint32(data[at+4:])
}

// cutStump takes out of the manifest in dir what is left of a record that was not
// written to its end, with whole records behind it: the disk was full, or the
// file had its limit. Badger then drops what the record was to announce, goes on,
// and writes the next one where the file ends; on opening it would take all from
// there on for torn, and delete the tables. The directory must be locked.
func cutStump(dir string) error {
	name, data, err := manifestOf(dir)
	if err != nil {
		return err
	}
	kept := data
	for at, next := stumpIn(kept); next > 0; at, next = stumpIn(kept) {
		kept = slices.Concat(kept[:at], kept[next:])
	}
	if len(kept) == len(data) {
		return nil
	}
	return replaceFile(name, kept)
}

// stumpIn returns where the first record that does not fit its checksum begins,
// and where the next whole one does, if that is within what the first one says is
// its own; else next is 0. One whose bytes up to there fit its checksum has a
// damaged length, and is no stump: it says what is not to be forgotten.
func stumpIn(data []byte) (at, next int) {
	at = manifestMagic
	for end, whole := recordAt(data, at); whole; end, whole = recordAt(data, at) {
		at = end
	}
	own, _ := recordAt(data, at)
	if own == 0 {
		own = len(data) // or more
	}
	for next = at + 1; next < own; next++ {
		if end, whole := recordAt(data, next); !whole || end == next+manifestHeader {
			continue // zeros are a whole record of nothing
		}
		if next >= at+manifestHeader && crc32.Checksum(data[at+manifestHeader:next], castagnoli) == binary.BigEndian.Uint32(data[at+4:]) {
			return at, 0
		}
		return at, next
	}
	return at, 0
}

// manifestOf reads the manifest in dir. That there is none is said by whoever
// needs it.
func manifestOf(dir string) (name string, data []byte, err error) {
	name = filepath.Join(dir, badger.ManifestFilename)
	data, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return name, data, err
}
