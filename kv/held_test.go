package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// filled makes a closed store with one key.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "store")
	store := open(t, dir, nil)
	wait(t, store.Commit(batch("k", "v")))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// opens opens the store, expects a condition and that it can be read and
// written all the same, and returns the reason.
func opens(t *testing.T, dir string, want kv.Condition) (reason string) {
	t.Helper()
	store := open(t, dir, nil)
	h := store.Health()
	if h.Condition != want || (want == kv.Healthy) != (h.Reason == "") {
		t.Errorf("got %q, %q; want %q", h.Condition, h.Reason, want)
	}
	wait(t, store.Commit(batch("l", "v")))
	err := store.View(func(v kv.View) error {
		_, err := v.Get([]byte("l"))
		return err
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Error(err)
	}
	return h.Reason
}

// Seen red without the comparison of inodes, without the file that keeps a
// store held, and (the last two) without their own checks.
func TestCopiesAndPartsOfAStoreAreHeld(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		make func(t *testing.T, dir string) (string, error)
		want string // in the reason; empty if it is not held
	}{
		"left alone": {func(_ *testing.T, dir string) (string, error) { return dir, nil }, ""},
		"renamed": {func(_ *testing.T, dir string) (string, error) {
			return dir + "2", os.Rename(dir, dir+"2")
		}, ""},
		"copied": {func(_ *testing.T, dir string) (string, error) {
			return dir + "2", os.CopyFS(dir+"2", os.DirFS(dir))
		}, "a copy"},
		"copied to where the original was": {func(_ *testing.T, dir string) (string, error) {
			return dir, errors.Join(os.CopyFS(dir+"2", os.DirFS(dir)), os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(dir+"2")))
		}, "a copy"},
		"copied while it is open": {func(t *testing.T, dir string) (string, error) {
			store := open(t, dir, nil)
			defer store.Close()
			wait(t, store.Commit(batch("m", "v")))
			return dir + "2", os.CopyFS(dir+"2", os.DirFS(dir))
		}, "a copy"},
		"without its marker": {func(_ *testing.T, dir string) (string, error) {
			return dir, os.Remove(filepath.Join(dir, "STORE"))
		}, "missing"},
		"with a damaged marker": {func(_ *testing.T, dir string) (string, error) {
			return dir, os.WriteFile(filepath.Join(dir, "STORE"), []byte("PAWLSTOR"), 0o600)
		}, "damaged"},
		"with nothing but its marker": {func(_ *testing.T, dir string) (string, error) {
			all, err := os.ReadDir(dir)
			for _, file := range all {
				if file.Name() != "STORE" {
					err = errors.Join(err, os.Remove(filepath.Join(dir, file.Name())))
				}
			}
			return dir, err
		}, "lacks the last commits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := row.make(t, filled(t))
			if err != nil {
				t.Fatal(err)
			}
			if row.want == "" {
				opens(t, dir, kv.Healthy)
				opens(t, dir, kv.Healthy)
				return
			}
			first := opens(t, dir, kv.Held)
			if !strings.Contains(first, row.want) {
				t.Errorf("the reason is %q, want something with %q", first, row.want)
			}
			if again := opens(t, dir, kv.Held); again != first {
				t.Errorf("then the reason is %q, it was %q", again, first)
			}
			// This file is all that keeps it held.
			if err := os.Remove(filepath.Join(dir, "HELD")); err != nil {
				t.Fatal(err)
			}
			opens(t, dir, kv.Healthy)
		})
	}
}

// Seen red without the check.
func TestStoreOfAnotherFormatOrWithLinkedFilesIsRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(name string) error
		want   string
	}{
		"newer": {func(name string) error {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			// As a later version would write it: the checksum fits.
			copy(data[8:], []byte{0, 0, 0, 2})
			return os.WriteFile(name, kv.Resealed(data), 0o600)
		}, "newer version"},
		"linked": {func(name string) error { return os.Link(name, name+".link") }, "links"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filled(t)
			if err := row.change(filepath.Join(dir, "STORE")); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			if _, err := kv.Open(dir, nil); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want something with %q", err, row.want)
			}
			for name, was := range before {
				if !bytes.Equal(files(t, dir)[name], was) {
					t.Errorf("%s was changed", name)
				}
			}
		})
	}
}

// writeChild commits and is killed then, so that its log stays.
func writeChild(dir string) error {
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	for i := range 50 {
		if err := store.Commit(batch(fmt.Sprint(i), "v")).Wait(context.Background()); err != nil {
			return err
		}
	}
	fmt.Println("written")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return store.Close()
}

// One flipped byte in a log drops all commits behind it, and Badger says
// nothing.
//
// Seen red without the anchor: the store seemed fine.
func TestStoreThatLacksItsLastCommitsIsHeld(t *testing.T) {
	t.Parallel()
	for _, part := range []int{0, 1, 2, 3, 4} {
		t.Run(fmt.Sprintf("%d of 4 parts of the log", part), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := startChild(t, "write", dir)
			c.line()
			c.kill()
			logs, err := filepath.Glob(filepath.Join(dir, "*.mem"))
			if err != nil || len(logs) != 1 {
				t.Fatal(logs, err)
			}
			log, err := os.OpenFile(logs[0], os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			data, err := io.ReadAll(log)
			if err != nil {
				t.Fatal(err)
			}
			if size := len(bytes.TrimRight(data, "\x00")); part < 4 {
				flipByte(t, log, int64(20+(size-20)*part/4+5))
			}
			if part == 4 { // nothing flipped
				opens(t, dir, kv.Healthy)
				return
			}
			if reason := opens(t, dir, kv.Held); !strings.Contains(reason, "lacks the last commits") {
				t.Errorf("the reason is %q", reason)
			}
			opens(t, dir, kv.Held)
		})
	}
}
