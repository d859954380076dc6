package kv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// Without checksums of Badger's blocks and of the records, most flips give
// wrong values silently. A block that Badger refuses is absent, which only the
// head of a chain can tell.
//
// Seen red without any checksum (Badger's of blocks, that of records, the
// running hash), and without the comparison with the head.
func TestFlippedByteInATableIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	prefix := []byte("run/1/")
	store := open(t, dir, nil)
	chain := kv.NewChain(store, prefix)
	for i := range 200 {
		chain.Append(fmt.Appendf(nil, "entry %d of a run that is long enough for many blocks", i), nil)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) != 1 {
		t.Fatalf("tables %v, %v", tables, err)
	}
	whole, err := os.ReadFile(tables[0])
	if err != nil {
		t.Fatal(err)
	}
	noticed := 0
	const flips = 25
	// The index at the end of a table has a checksum that Badger ends the
	// process for, so the flips are in the blocks before it.
	for i := range flips {
		at := len(whole) * 3 / 4 * i / flips
		damaged := append([]byte{}, whole...)
		damaged[at] ^= 0x10
		if err := os.WriteFile(tables[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if flipNoticed(t, dir, prefix, chain.Head(), at) {
			noticed++
		}
	}
	if noticed < flips/2 {
		t.Errorf("%d of %d flips hit a record, so this shows little", noticed, flips)
	}
}

// flipNoticed reads the chain and reports whether that failed. If it did not,
// everything must be as it was written.
func flipNoticed(t *testing.T, dir string, prefix []byte, head kv.Head, at int) (noticed bool) {
	t.Helper()
	store, err := kv.Open(dir, nil)
	if err != nil {
		return true
	}
	defer store.Close()
	err = store.View(func(v kv.View) error {
		entries, got, err := kv.ReadChain(v, prefix)
		if err == nil && (len(entries) != 200 || got != head) {
			t.Errorf("byte %d flipped: %d entries, head %v", at, len(entries), got)
		}
		if errors.Is(err, kv.ErrNotFound) {
			t.Errorf("byte %d flipped: the chain seems never to have been", at)
		}
		return err
	})
	return err != nil
}
