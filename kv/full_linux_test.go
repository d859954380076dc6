package kv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// fullChild fills a small file system through the store until that refuses.
func fullChild(dir string) error {
	store, err := kv.Open(dir, &kv.Options{Reserve: 40 << 20})
	if err != nil {
		return err
	}
	written := 0
	for ; err == nil; written++ {
		err = store.Commit(batch(fmt.Sprintf("k%04d", written), noise(written))).Wait(context.Background())
	}
	fmt.Println("refused:", errors.Is(err, kv.ErrNoSpace), store.Health().Condition, written > 100)
	if err := os.Remove(filepath.Join(dir, "..", "ballast")); err != nil {
		return err
	}
	fmt.Println("with more space:", store.Commit(batch("more", "x")).Wait(context.Background()), store.Health().Condition)
	return store.Close()
}

// A full disk is a signal that ends the process: Badger writes into mapped
// files.
//
// Seen red without the reserve: the child was ended by SIGBUS.
func TestStoreStopsBeforeTheDiskIsFull(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	if err := syscall.Mount("tmpfs", mount, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("no small file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(mount, syscall.MNT_DETACH) })
	ballast := make([]byte, 32<<20)
	if err := os.WriteFile(filepath.Join(mount, "ballast"), ballast, 0o600); err != nil {
		t.Fatal(err)
	}
	got := startChild(t, "full", filepath.Join(mount, "store")).rest()
	for _, want := range []string{"refused: true no_space true", "with more space: <nil> ok"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the child's answers:\n%s", want, got)
		}
	}
}
