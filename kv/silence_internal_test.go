package kv

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// A store with two tables: the older one has the keys a000 to a999 with the
// value "old", the newer one b000 to b999 and, with the value "new", every
// second key of the older one.
func twoTables(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, row := range []struct {
		value string
		keys  func(i int) []string
	}{
		{"old", func(i int) []string { return []string{fmt.Sprintf("a%03d", i)} }},
		{"new", func(i int) []string { return []string{fmt.Sprintf("a%03d", i/2*2), fmt.Sprintf("b%03d", i)} }},
	} {
		s, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &Batch{}
		for i := range 1000 {
			for _, key := range row.keys(i) {
				b.Set([]byte(key), []byte(row.value))
			}
		}
		if err := errors.Join(s.Commit(b).Wait(t.Context()), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// spoilBlocks flips a byte in each block of the newest table of an open store.
func spoilBlocks(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 2 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	x, err := readIndex(tables[1])
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(tables[1], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, b := range x.blocks {
		one := make([]byte, 1)
		at := b.at + b.size/2
		_, err := f.ReadAt(one, at)
		if err == nil {
			one[0] ^= 0x10
			_, err = f.WriteAt(one, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What Badger does not find in a damaged block is no absence, and the value
// that it finds in another table instead is not the last one.
//
// Seen red without the second look at what Badger does not say: the key was
// absent, "old", or the scan ended; and with a look only at what is absent.
func TestKeyInADamagedBlockIsNeitherAbsentNorOld(t *testing.T) {
	t.Parallel()
	dir := twoTables(t)
	store, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	// While all is well the same questions have their answers.
	if got, err := value(t, store, "a500"); got != "new" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := value(t, store, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
	spoilBlocks(t, dir)
	for name, key := range map[string]string{"absent": "b500", "old": "a500"} {
		if got, err := value(t, store, key); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if got, err := value(t, store, "a501"); got != "old" {
		t.Errorf("a key of the other table: got %q, %v", got, err)
	}
	if _, err := value(t, store, "c"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a key of no table: got %v", err)
	}
	for name, r := range map[string]Range{
		"all":                {},
		"keys only":          {KeysOnly: true},
		"backwards":          {Reverse: true},
		"a prefix":           {Prefix: []byte("b5")},
		"from a key":         {Prefix: []byte("b"), From: []byte("b9")},
		"backwards to a key": {Prefix: []byte("b"), From: []byte("b1"), Reverse: true},
	} {
		err := store.View(func(v View) error {
			for _, err := range v.Scan(r) {
				if err != nil {
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("scan of %s: got %v", name, err)
		}
	}
}

// Seen red without the second look: the batch landed.
func TestAbsenceInADamagedBlockIsNoLeave(t *testing.T) {
	t.Parallel()
	dir := twoTables(t)
	store, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	spoilBlocks(t, dir)
	b := set("effect", "made")
	b.RequireAbsent([]byte("b500"))
	if err := store.Commit(b).Wait(t.Context()); !errors.Is(err, ErrStoreBroken) || !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	// Nothing is made of what is left.
	if err := store.Reopen(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Errorf("reopened: %v", err)
	}
	if err := store.Commit(set("k", "v")).Wait(t.Context()); !errors.Is(err, ErrStoreBroken) {
		t.Errorf("got %v", err)
	}
}

// Tables come and go under the readers.
//
// Seen red with the old list of tables believed.
func TestMergedTablesAreNoDamage(t *testing.T) {
	t.Parallel()
	store, err := Open(twoTables(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	scan := func() {
		t.Helper()
		if err := store.View(func(v View) error {
			for _, err := range v.Scan(Range{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	scan()
	// As if this one had been merged since.
	gone := store.(*badgerStore).life.Load().silence
	gone.tables = append(gone.tables, badger.TableInfo{ID: 999, Left: y.KeyWithTs(nil, 9), Right: y.KeyWithTs([]byte{9}, 9), MaxVersion: 9})
	scan()
}

func FuzzCutSum(f *testing.F) {
	f.Add([]byte("data\x10\x05\x00\x00\x00\x02"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		rest, _, err := cutSum(data)
		if err == nil && !bytes.HasPrefix(data, rest) {
			t.Errorf("%x is not before the checksum of %x", rest, data)
		}
	})
}
