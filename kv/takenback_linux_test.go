package kv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Badger makes a table of a full log and cannot sync its manifest: it removes the
// table, which the manifest names all the same. The handle is broken, and the
// store opens as if nothing had been, with every commit.
//
// Here the manifest is a pipe for that time, which takes the record and cannot be
// synced; it is put where it belongs afterwards.
//
// A table that Badger uses is missed all the same.
//
// Seen red with a complaint of Badger's that nobody hears, and with all tables
// that are not there taken for taken back.
func TestManifestThatCannotBeSynced(t *testing.T) {
	t.Parallel()
	t.Run("nothing is lost", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s, written := unsyncedManifest(t, dir)
		if err := s.Reopen(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			holds(t, s, written)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "TAKEN-BACK")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the list is still there: %v", err)
			}
			s = open(t, dir, nil)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a table is lost", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		table, _ := longRun(t, dir, []byte("run/"))
		s, _ := unsyncedManifest(t, dir, table)
		var damage *kv.DamageError
		if err := s.Reopen(t.Context()); !errors.As(err, &damage) || damage.File != table {
			t.Errorf("reopened with %v", err)
		}
		if err := s.Close(); !errors.Is(err, kv.ErrStoreBroken) {
			t.Errorf("closed with %v", err)
		}
	})
}

// unsyncedManifest fills a log of a store while its manifest cannot be synced, and
// waits until that is noticed. Files that are lost go away first.
func unsyncedManifest(t *testing.T, dir string, lost ...string) (s kv.Store, written int) {
	t.Helper()
	s = open(t, dir, nil)
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lost {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	fd := descriptorOf(t, filepath.Join(dir, "MANIFEST"))
	file, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(file)
	var pipe [2]int
	if err := errors.Join(syscall.Pipe2(pipe[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK), syscall.Dup3(pipe[1], fd, syscall.O_CLOEXEC)); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])

	record, n := make([]byte, 1<<16), 0
	for ; n <= 0; written++ { // until a log is full
		if err := commitNumber(t, s, written); err != nil {
			t.Fatal(err)
		}
		n, _ = syscall.Read(pipe[0], record) // nothing yet, mostly
	}
	if _, err := syscall.Write(file, record[:n]); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); s.Health().Condition != kv.Broken; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // Badger tries again every second
			t.Fatal("nobody noticed that the manifest could not be synced")
		}
	}
	if err := syscall.Dup3(file, fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return s, written
}

// holds expects a healthy store with all commits.
func holds(t *testing.T, s kv.Store, written int) {
	t.Helper()
	if h := s.Health(); h.Condition != kv.Healthy {
		t.Errorf("it is %s: %s", h.Condition, h.Reason)
	}
	if err := s.View(func(v kv.View) error {
		for i := range written {
			value, err := v.Get(fmt.Appendf(nil, "k%d", i))
			if err != nil || !bytes.Equal(value, valueOf(i)) {
				return fmt.Errorf("commit %d of %d: %w", i, written, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func commitNumber(t *testing.T, s kv.Store, n int) error {
	t.Helper()
	b := new(kv.Batch)
	b.Set(fmt.Appendf(nil, "k%d", n), valueOf(n))
	return s.Commit(b).Wait(t.Context())
}

func valueOf(n int) []byte { return bytes.Repeat([]byte{byte(n), byte(n >> 8), 7}, 30_000) }

// descriptorOf is this process's for a file.
func descriptorOf(t *testing.T, name string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc/self/fd: %v", err)
	}
	for _, entry := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && to == name {
			fd, err := strconv.Atoi(entry.Name())
			if err != nil {
				t.Fatal(err)
			}
			return fd
		}
	}
	t.Fatalf("%s is not open", name)
	return 0
}
