package kv_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// longRun makes a store with one table that holds a chain of many blocks, and
// returns the table's file.
func longRun(t *testing.T, dir string, prefix []byte) (table string, head kv.Head) {
	t.Helper()
	store := open(t, dir, nil)
	chain := kv.NewChain(store, prefix)
	for i := range 200 {
		chain.Append(longEntry(i), nil)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	return tables[0], chain.Head()
}

func longEntry(i int) []byte {
	return fmt.Appendf(nil, "entry %d of a run that is long enough for many blocks", i)
}

// files returns what is in every file of dir.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, entry := range entries {
		if all[entry.Name()], err = os.ReadFile(filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// refused expects that the store is not opened because of file, and that no
// file of it was changed, made or removed.
func refused(t *testing.T, dir, file, what string) {
	t.Helper()
	before := files(t, dir)
	store, err := kv.Open(dir, nil)
	if err == nil {
		t.Errorf("%s: the store opened", what)
		_ = store.Close()
	}
	damage := new(kv.DamageError)
	if !errors.As(err, &damage) || damage.File != file || !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("%s: got %v, want a DamageError of %s", what, err, file)
	}
	after := files(t, dir)
	for name := range after {
		if was, ok := before[name]; !ok || !bytes.Equal(was, after[name]) {
			t.Errorf("%s: %s was changed", what, name)
		}
		delete(before, name)
	}
	for name := range before {
		t.Errorf("%s: %s was removed", what, name)
	}
}

// A key in a block that Badger refuses is absent to it, and an absent key may
// be leave to do an effect.
//
// Seen red without the check of the tables, and with Badger's own check once it
// has opened: it ends the process for a byte of the index.
func TestStoreWithADamagedTableDoesNotOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, _ := longRun(t, dir, []byte("run/1/"))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(what string, change func([]byte) []byte) {
		if err := os.WriteFile(file, change(bytes.Clone(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, file, what)
	}
	flip := func(at int) {
		damage(fmt.Sprintf("byte %d flipped", at), func(b []byte) []byte { b[at] ^= 0x10; return b })
	}
	for at := 0; at < len(whole)-64; at += 211 {
		flip(at)
	}
	for at := len(whole) - 64; at < len(whole); at++ { // lengths and checksum of the index
		flip(at)
	}
	damage("empty", func(b []byte) []byte { return nil })
	damage("one byte", func(b []byte) []byte { return b[:1] })
	damage("cut in half", func(b []byte) []byte { return b[:len(b)/2] })
	damage("last byte lost", func(b []byte) []byte { return b[:len(b)-1] })
	damage("half of it zeros", func(b []byte) []byte { clear(b[len(b)/2:]); return b })
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, file, "removed")
}

// Badger deletes tables that its manifest does not name.
//
// Seen red without each of the two checks of the manifest: Badger opened an
// empty store and deleted the table.
func TestStoreWithADamagedManifestDoesNotOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	longRun(t, dir, []byte("run/1/"))
	manifest := filepath.Join(dir, "MANIFEST")
	whole, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x01
		if err := os.WriteFile(manifest, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, manifest, fmt.Sprintf("byte %d of the manifest flipped", at))
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, manifest, "manifest removed")
}

// A process that is killed leaves a table that nothing refers to and a
// manifest whose last record ends early.
func TestLeftoversOfAKilledProcessAreNoDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefix := []byte("run/1/")
	file, head := longRun(t, dir, prefix)
	table, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "000077.sst"), table[:len(table)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST"))
	if err != nil {
		t.Fatal(err)
	}
	torn := binary.BigEndian.AppendUint32(manifest, 20)
	torn = append(torn, 0x12, 0x34, 0x56, 0x78, 1, 2, 3)
	if err := os.WriteFile(filepath.Join(dir, "MANIFEST"), torn, 0o600); err != nil {
		t.Fatal(err)
	}
	store := open(t, dir, nil)
	defer store.Close()
	err = store.View(func(v kv.View) error {
		entries, got, err := kv.ReadChain(v, prefix)
		if len(entries) != 200 || got != head {
			t.Errorf("%d entries, head %v", len(entries), got)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "000077.sst")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("leftover table: got %v", err)
	}
}

// A table that is damaged after the store was opened. Without checksums of
// Badger's blocks and of the records, most flips give wrong values silently. A
// block that Badger refuses is absent, which only the head of a chain can tell.
//
// Seen red without any checksum (Badger's of blocks, that of records, the
// running hash), and without the comparison with the head.
func TestByteFlippedUnderAnOpenStoreIsNoticedInAChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefix := []byte("run/1/")
	name, head := longRun(t, dir, prefix)
	table, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	info, err := table.Stat()
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	const flips = 25
	// For the index at the end of a table Badger ends the process, so the flips
	// are in the blocks before it.
	for i := range flips {
		at := info.Size() * 3 / 4 * int64(i) / flips
		if flipNoticed(t, dir, prefix, head, func() { flipByte(t, table, at) }) {
			noticed++
		}
		flipByte(t, table, at)
	}
	if noticed < flips/2 {
		t.Errorf("%d of %d flips hit a record, so this shows little", noticed, flips)
	}
}

// A power cut may leave a record of the manifest with its length and with zeros
// for the rest. It was never synced, so what it makes superfluous is still there.
//
// Seen red without the record cut off: the store was refused as damaged.
func TestTornRecordOfTheManifestIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefix := []byte("run/1/")
	_, head := longRun(t, dir, prefix)
	name := filepath.Join(dir, "MANIFEST")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	body := []byte{0x0a, 0x06, 0x08, 0x4d, 0x10, 0x01, 0x18, 0x01} // table 77 is not there any more
	record := binary.BigEndian.AppendUint32(bytes.Clone(whole), uint32(len(body)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	record = append(record, body...)
	for zeros := 2; zeros <= len(body)+4; zeros++ {
		torn := bytes.Clone(record)
		clear(torn[len(torn)-zeros:])
		for _, behind := range []int{0, 1, 600} {
			if err := os.WriteFile(name, append(bytes.Clone(torn), make([]byte, behind)...), 0o600); err != nil {
				t.Fatal(err)
			}
			store := open(t, dir, nil)
			err := store.View(func(v kv.View) error {
				_, got, err := kv.ReadChain(v, prefix)
				if got != head {
					t.Errorf("%d zeros, %d behind: head %v", zeros, behind, got)
				}
				return err
			})
			if err := errors.Join(err, store.Close()); err != nil {
				t.Errorf("%d zeros, %d behind: %v", zeros, behind, err)
			}
		}
	}
	record[len(record)-1] = 0
	if err := os.WriteFile(name, record, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, name, "one byte zero")
}

// Badger's file of keys has none, since nothing is encrypted. All the same it is
// not opened with a damaged one, and then the file is named.
//
// Seen red with Badger's own words, which name no file.
func TestStoreWithADamagedFileOfKeysDoesNotOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	longRun(t, dir, []byte("run/1/"))
	name := filepath.Join(dir, "KEYREGISTRY")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, name, "a byte of the file of keys flipped")
}

// flipByte flips a byte of a file in place, as a mapping of it sees too.
func flipByte(t *testing.T, f *os.File, at int64) {
	t.Helper()
	b := make([]byte, 1)
	_, err := f.ReadAt(b, at)
	if err == nil {
		b[0] ^= 0x10
		_, err = f.WriteAt(b, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// flipNoticed opens the store, flips a byte, reads the chain and reports
// whether that failed. If it did not, everything must be as it was written.
func flipNoticed(t *testing.T, dir string, prefix []byte, head kv.Head, flip func()) (noticed bool) {
	t.Helper()
	store := open(t, dir, nil)
	defer store.Close()
	flip()
	err := store.View(func(v kv.View) error {
		entries, got, err := kv.ReadChain(v, prefix)
		if err == nil && (len(entries) != 200 || got != head) {
			t.Errorf("%d entries, head %v", len(entries), got)
		}
		for i, entry := range entries {
			if !bytes.Equal(entry.Value, longEntry(i)) {
				t.Errorf("entry %d: got %q", i, entry.Value)
			}
		}
		if errors.Is(err, kv.ErrNotFound) {
			t.Error("the chain seems never to have been")
		}
		return err
	})
	return err != nil
}
