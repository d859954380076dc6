package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// The anchor is the file STORE beside Badger's. It says two things that
// Badger's files cannot: which file it is itself, so that a copy is known for
// one, and the number of the last commit that was durable, so that lost ones
// are missed. FORMAT.md has its bytes.

const (
	anchorName   = "STORE"
	anchorFormat = 1
	anchorHeader = 8 + 4 + 8 + 8 // magic, format, inode, birth
	// A slot is in a sector of its own, so that a torn write spoils one.
	anchorSector = 512
	anchorSize   = 3 * anchorSector
)

var anchorMagic = []byte("PAWLSTOR")

// anchor is the open anchor of a store. Only who writes commits uses it.
type anchor struct {
	file   *os.File
	number uint64 // of the last durable commit that it has
	slot   int64  // where that number is
	logger *slog.Logger
	failed bool
}

// advance writes the number of a commit that is durable. It is not synced: it
// may be lower than the last commit, never higher. That it cannot be written
// costs only the protection.
func (a *anchor) advance(number uint64) {
	a.slot = 1 - a.slot
	_, err := a.file.WriteAt(anchorSlot(number), anchorSector*(1+a.slot))
	a.number = number
	if err != nil && !a.failed {
		a.failed = true
		a.logger.Warn("the number of a commit could not be written: lost commits may not be noticed", attrError, err)
	}
}

// removed is an error if the store was removed from the disk: what is written is
// gone when this process is.
func (a *anchor) removed() error {
	info, err := a.file.Stat()
	if err != nil {
		return err
	}
	if _, names := inode(info); names == 0 {
		return errors.New("its files were removed while it was open")
	}
	return nil
}

func (a *anchor) close() error {
	if a == nil || a.file == nil {
		return nil
	}
	return a.file.Close()
}

// anchorSlot returns a number with its checksum.
func anchorSlot(number uint64) []byte {
	slot := binary.BigEndian.AppendUint64(nil, number)
	return binary.BigEndian.AppendUint32(slot, crc32.Checksum(slot, castagnoli))
}

// makeAnchor puts a new anchor in the place of the one in dir, if any.
func makeAnchor(dir string, number uint64, logger *slog.Logger) (*anchor, error) {
	name := filepath.Join(dir, anchorName)
	f, err := os.OpenFile(name+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	id, _, err := identityOf(f)
	if err == nil {
		_, err = f.Write(anchorBytes(id, number))
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err == nil {
		err = syncFile(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &anchor{file: f, number: number, logger: logger}, nil
}

// identity tells a file from its copies.
type identity struct {
	inode uint64
	birth int64 // nanoseconds, or 0 if it is not known
}

func identityOf(f *os.File) (id identity, names uint64, err error) {
	info, err := f.Stat()
	if err != nil {
		return identity{}, 0, err
	}
	id.inode, names = inode(info)
	id.birth = birth(f)
	return id, names, nil
}

// same reports whether both can be the same file.
func (id identity) same(other identity) bool {
	return id.inode == other.inode && (id.birth == other.birth || id.birth == 0 || other.birth == 0)
}

func anchorBytes(id identity, number uint64) []byte {
	out := binary.BigEndian.AppendUint32(bytes.Clone(anchorMagic), anchorFormat)
	out = binary.BigEndian.AppendUint64(out, id.inode)
	out = binary.BigEndian.AppendUint64(out, uint64(id.birth))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	out = append(out, make([]byte, anchorSize-len(out))...)
	for slot := range 2 {
		copy(out[anchorSector*(1+slot):], anchorSlot(number))
	}
	return out
}

// openAnchor opens the anchor in dir. Why says what about it asks for the
// store to be held. The error is [fs.ErrNotExist] if there is none.
func openAnchor(dir string, logger *slog.Logger) (a *anchor, why []string, err error) {
	name := filepath.Join(dir, anchorName)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	a = &anchor{file: f, logger: logger}
	why, err = a.read(name)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return a, why, nil
}

func (a *anchor) read(name string) (why []string, err error) {
	id, names, err := identityOf(a.file)
	if err != nil {
		return nil, err
	}
	if names > 1 {
		return nil, fmt.Errorf("%s has %d names: its directory was copied by linking the files, and both would be written; "+
			"remove the links, or make a real copy", name, names)
	}
	data := make([]byte, anchorSize)
	if n, err := a.file.ReadAt(data, 0); n < len(data) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	found, err := parseAnchor(data)
	switch {
	case errors.Is(err, errFormat):
		return nil, fmt.Errorf("%s: %w", name, err)
	case err != nil:
		why = append(why, fmt.Sprintf("Its file %s is damaged", anchorName))
	case !id.same(found):
		why = append(why, "It is a copy or was restored from one: other effects may have been made since, of which it knows nothing")
	}
	if !a.readSlots(data) {
		why = append(why, fmt.Sprintf("Its file %s does not tell the last commit any more", anchorName))
	}
	return why, nil
}

var (
	errFormat = errors.New("the store has a format that this version does not know; use a newer version of Pawl")
	errAnchor = errors.New("not an anchor")
)

func parseAnchor(data []byte) (identity, error) {
	sum := binary.BigEndian.Uint32(data[anchorHeader:])
	if !bytes.HasPrefix(data, anchorMagic) || sum != crc32.Checksum(data[:anchorHeader], castagnoli) {
		return identity{}, errAnchor
	}
	if binary.BigEndian.Uint32(data[8:]) != anchorFormat {
		return identity{}, errFormat
	}
	return identity{binary.BigEndian.Uint64(data[12:]), int64(binary.BigEndian.Uint64(data[20:]))}, nil
}

// readSlots finds the highest number whose checksum fits.
func (a *anchor) readSlots(data []byte) (ok bool) {
	for slot := range int64(2) {
		at := data[anchorSector*(1+slot):]
		number := binary.BigEndian.Uint64(at)
		if bytes.Equal(at[:12], anchorSlot(number)) && (!ok || number >= a.number) {
			a.number, a.slot, ok = number, slot, true
		}
	}
	return ok
}

// identify opens the anchor, or makes one if the store is new, and says why the
// store is to be held, if it is.
func (s *badgerStore) identify() (why []string, err error) {
	if s.anchor != nil { // reopened: nobody else was in the directory
		return nil, nil
	}
	dir := s.lock.dir
	if err := s.readHeld(); err != nil {
		return nil, err
	}
	s.anchor, why, err = openAnchor(dir, s.logger)
	if !errors.Is(err, fs.ErrNotExist) {
		return why, err
	}
	if _, err := os.Stat(filepath.Join(dir, "MANIFEST")); errors.Is(err, fs.ErrNotExist) {
		s.anchor, err = makeAnchor(dir, 0, s.logger)
		return nil, err
	}
	s.anchor = &anchor{logger: s.logger}
	return []string{fmt.Sprintf("Its file %s is missing: it was put together from parts of a store", anchorName)}, nil
}
