package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// holdChild opens the store, commits, and keeps it until its input ends.
func holdChild(dir string) error {
	store, err := kv.Open(dir, nil)
	if err != nil {
		return err
	}
	if err := store.Commit(batch("k", "v")).Wait(context.Background()); err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return store.Close()
}

func TestSecondProcessIsToldTheOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := startChild(t, "hold", dir)
	if got := owner.line(); got != "held" {
		t.Fatal(got)
	}
	wantLocked(t, dir, owner.cmd.Process.Pid)

	// Another id in the file: that of a process which is gone is not told.
	gone := startChild(t, "hold", t.TempDir())
	gone.line()
	gone.kill()
	writePID(t, dir, gone.cmd.Process.Pid)
	wantLocked(t, dir, 0)

	owner.kill()
	if _, err := os.Stat(filepath.Join(dir, "LOCK")); err != nil {
		t.Fatalf("a killed owner leaves no file behind, so this shows nothing: %v", err)
	}
	store := open(t, dir, nil)
	defer store.Close()
	err := store.View(func(v kv.View) error {
		_, err := v.Get([]byte("k"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFileOfALivingStrangerIsNoLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writePID(t, dir, os.Getppid())
	store := open(t, dir, nil)
	wantLocked(t, dir, os.Getpid())
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if err := open(t, dir, nil).Close(); err != nil {
		t.Error(err)
	}
}

func writePID(t *testing.T, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "LOCK"), fmt.Appendln(nil, pid), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantLocked(t *testing.T, dir string, pid int) {
	t.Helper()
	_, err := kv.Open(dir, nil)
	var locked *kv.LockedError
	if !errors.Is(err, kv.ErrStoreLocked) || !errors.As(err, &locked) || locked.PID != pid || locked.Dir != dir {
		t.Errorf("got %v, want to hear of process %d", err, pid)
	}
}

// Seen red without the waiting.
func TestOpenWaitsForTheLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	owner := startChild(t, "hold", dir)
	owner.line()
	_, err := kv.Open(dir, &kv.Options{WaitLock: 3 * time.Millisecond})
	var locked *kv.LockedError
	if !errors.As(err, &locked) || locked.PID != owner.cmd.Process.Pid {
		t.Errorf("waited in vain, got %v", err)
	}
	opened := make(chan error)
	go func() {
		store, err := kv.Open(dir, &kv.Options{WaitLock: time.Hour})
		if err == nil {
			err = store.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("did not wait: %v", err)
	default:
	}
	owner.input.Close() // it closes the store and ends
	if err := <-opened; err != nil {
		t.Error(err)
	}
}
