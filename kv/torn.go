package kv

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
)

// cutTornRecord takes the last record off the manifest in dir if the power
// failed before it was synced: a file may have its new length and zeros for what
// was not written. Badger cuts off a record that is too short, and takes one that
// ends in zeros for damage. What it was to tell is not lost: logs and tables that
// a record makes superfluous are deleted behind its sync. The directory must be
// locked.
func cutTornRecord(dir string) error {
	name := filepath.Join(dir, badger.ManifestFilename)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
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
