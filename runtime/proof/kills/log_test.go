package kills_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is one record of Badger's log, where it is in its file.
type entry struct {
	at, end   int
	key       []byte // the caller's, with the byte of its space
	value     []byte // aliases the file's content
	version   uint64 // the physical commit that wrote it
	endOfThat bool   // it is the mark behind a commit
}

// entriesOf reads a log (*.mem) up to where it does not fit any more: meta, user
// meta, three varints (lengths of key and value, expiry), key with version,
// value, CRC-32C.
func entriesOf(data []byte) (all []entry) {
	const header, trailer = 20, 4
	for at := header; at < len(data); {
		rest, lengths := data[at:], [3]uint64{}
		if len(rest) < 2 {
			return all
		}
		n := 2
		for i := range lengths {
			v, m := binary.Uvarint(rest[n:])
			if m <= 0 {
				return all
			}
			lengths[i] = v
			n += m
		}
		if lengths[0] < 8 || lengths[0] > 1<<16 || lengths[1] > 1<<24 {
			return all
		}
		key := n + int(lengths[0])
		end := key + int(lengths[1])
		if end+trailer > len(rest) || crc32.Checksum(rest[:end], castagnoli) != binary.BigEndian.Uint32(rest[end:]) {
			return all
		}
		all = append(all, entry{
			at: at, end: at + end + trailer, key: rest[n : key-8], value: rest[key:end],
			version: math.MaxUint64 - binary.BigEndian.Uint64(rest[key-8:]), endOfThat: rest[0]&0x80 != 0,
		})
		at += end + trailer
	}
	return all
}

// durableEnd is where what is known to be synced ends in a log: behind the last
// record of a commit that the anchor names. The anchor is written after the sync
// and before anybody is told.
func durableEnd(data []byte, anchor uint64) (end int) {
	for _, e := range entriesOf(data) {
		if e.version <= anchor {
			end = e.end
		}
	}
	return end
}

// writtenEnd is where the bytes of a log end that are not zero.
func writtenEnd(data []byte) int { return len(bytes.TrimRight(data, "\x00")) }

// anchorOf is the number of the last commit that the store's anchor names.
func anchorOf(t *testing.T, dir string) uint64 {
	t.Helper()
	data := readFile(t, filepath.Join(dir, "STORE"))
	if len(data) < 1044 {
		return 0
	}
	return max(binary.BigEndian.Uint64(data[512:]), binary.BigEndian.Uint64(data[1024:]))
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// overwrite gives a file other content in place, as a disk would: it stays the
// same file.
func overwrite(t *testing.T, name string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
}

// image is the content of the files of a directory.
type image map[string][]byte

func imageOf(t *testing.T, dir string) image {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	img := image{}
	for _, f := range files {
		img[f.Name()] = readFile(t, filepath.Join(dir, f.Name()))
	}
	return img
}

// names are the files with an ending, in order.
func (img image) names(ending string) (names []string) {
	for name := range img {
		if filepath.Ext(name) == ending {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// restore puts a directory back. Its anchor is made to say that it is the file
// that it is, since holding a store makes another one.
func (img image) restore(t *testing.T, dir string) {
	t.Helper()
	for name := range imageOf(t, dir) {
		if _, ok := img[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, data := range img {
		overwrite(t, filepath.Join(dir, name), data)
	}
	if len(img["STORE"]) > 0 {
		itself(t, filepath.Join(dir, "STORE"))
	}
}

// itself makes an anchor say which file it is: inode, time of birth (0 is not
// known), checksum.
func itself(t *testing.T, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	data := readFile(t, name)
	binary.BigEndian.PutUint64(data[12:], info.Sys().(*syscall.Stat_t).Ino)
	clear(data[20:28])
	binary.BigEndian.PutUint32(data[28:], crc32.Checksum(data[:28], castagnoli))
	overwrite(t, name, data)
}
