package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
)

// checkTables returns a [DamageError] if a table of the store in dir is not
// what was written there. To Badger a damaged block has no keys, and to a
// caller an absent key is leave to do an effect. The check comes before Badger
// opens, since Badger merges and deletes tables from then on.
func checkTables(dir string, opts badger.Options) error {
	listed, err := readManifest(dir, opts)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		name := table.NewFilename(id, dir)
		data.Reset()
		if err := readFile(&data, name); errors.Is(err, fs.ErrNotExist) {
			return &DamageError{File: name, Reason: "it is missing"}
		} else if err != nil {
			return err
		}
		if err := checkTable(data.Bytes(), id, listed[id].Compression); err != nil {
			return &DamageError{File: name, Reason: err.Error()}
		}
	}
	return nil
}

// readManifest returns the tables that the store consists of. Others in the
// directory are leftovers, which Badger deletes: a process killed while it
// wrote one leaves it in any state.
func readManifest(dir string, opts badger.Options) (map[uint64]badger.TableManifest, error) {
	name := filepath.Join(dir, badger.ManifestFilename)
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noTables(dir, name)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	manifest, end, err := badger.ReplayManifestFile(f, opts.ExternalMagicVersion, opts)
	if err != nil {
		return nil, &DamageError{File: name, Reason: err.Error()}
	}
	return manifest.Tables, tornOnly(f, end)
}

// noTables returns a [DamageError] if there are tables in dir: without a
// manifest Badger takes them for leftovers.
func noTables(dir, manifest string) error {
	tables, err := filesOf(dir, ".sst")
	if err == nil && len(tables) > 0 {
		err = &DamageError{File: manifest, Reason: "it is missing, tables are there"}
	}
	return err
}

// tornOnly returns a [DamageError] if what is behind end, where the manifest's
// last whole record ends, begins with a whole record after all. Badger takes
// one whose length is damaged for one that was not written to its end, forgets
// all behind it and deletes the tables that it does not know any more.
func tornOnly(f *os.File, end int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	rest := make([]byte, info.Size()-end)
	if _, err := f.ReadAt(rest, end); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(rest) <= manifestHeader {
		return nil
	}
	want, sum := binary.BigEndian.Uint32(rest[4:]), uint32(0)
	for i := range rest[manifestHeader:] {
		sum = crc32.Update(sum, castagnoli, rest[manifestHeader+i:manifestHeader+i+1])
		if sum == want {
			return &DamageError{File: f.Name(), Reason: fmt.Sprintf("the length at byte %d does not fit its record", end)}
		}
	}
	return nil
}

func readFile(to *bytes.Buffer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		to.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = to.ReadFrom(f)
	return err
}

// checkTable compares a table with its checksums: that of the index and those
// of all blocks. Badger's reader panics over most damage, with no more to tell.
func checkTable(data []byte, id uint64, compression options.CompressionType) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("its blocks or its index do not fit their checksums")
		}
	}()
	// Blocks are checked as they are read, so that nothing is made of one that
	// does not fit.
	t, err := table.OpenInMemoryTable(data, id, &table.Options{ChkMode: options.OnBlockRead, Compression: compression})
	if err != nil {
		return err
	}
	return t.VerifyChecksum()
}
