package kv_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// The directory of an open store is moved away, and another store begins in its
// place. Each writes what is its own, whatever Badger makes and deletes, and both
// have everything afterwards.
//
// Seen red with Badger in the directory's name: both stores were ruined.
func TestDirectoryMovedAwayAndReplaced(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	place, away := filepath.Join(parent, "store"), filepath.Join(parent, "away")
	first := open(t, place, nil)
	const filling = 150 // values of 90 kB: more than a log holds
	write := func(s kv.Store, from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if err := commitNumber(t, s, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(first, 0, 10)
	if err := os.Rename(place, away); err != nil {
		t.Fatal(err)
	}
	second := open(t, place, nil)
	write(second, 0, 5)
	write(first, 10, filling)
	write(second, 5, 10)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	var locked *kv.LockedError
	if _, err := kv.Open(place, nil); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("a third one opened it with %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	for dir, written := range map[string]int{away: filling, place: 10} {
		s := open(t, dir, nil)
		holds(t, s, written)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A store that breaks while its directory is elsewhere is not reopened with what
// is in its place.
//
// Seen red without a look at what is there.
func TestMovedStoreIsNotReopenedElsewhere(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	place, away := filepath.Join(parent, "store"), filepath.Join(parent, "away")
	faults := new(kv.Faults)
	s, err := kv.OpenWithFaults(place, kv.Options{}, faults)
	if err != nil {
		t.Fatal(err)
	}
	faults.FailNext.Store(true)
	if err := commitNumber(t, s, 0); !errors.Is(err, kv.ErrStoreBroken) {
		t.Fatal(err)
	}
	if err := os.Rename(place, away); err != nil {
		t.Fatal(err)
	}
	other := open(t, place, nil)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(t.Context()); err == nil || !strings.Contains(err.Error(), place+" was moved away, removed or replaced") {
		t.Errorf("reopened with %v", err)
	}
	if err := errors.Join(os.RemoveAll(place), os.Rename(away, place)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reopen(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Nothing is acknowledged that the disk does not have.
//
// Seen red without a look at the anchor's names: a log's worth of commits.
func TestRemovedStoreTakesNoCommits(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, dir, nil)
	// Badger cannot close what has no directory, so one file stands for all.
	if err := errors.Join(commitNumber(t, s, 0), os.Remove(filepath.Join(dir, "STORE"))); err != nil {
		t.Fatal(err)
	}
	if err := commitNumber(t, s, 1); !errors.Is(err, kv.ErrStoreBroken) || !strings.Contains(fmt.Sprint(err), "its files were removed") {
		t.Errorf("committed with %v", err)
	}
	if err := s.Close(); !errors.Is(err, kv.ErrStoreBroken) {
		t.Errorf("closed with %v", err)
	}
}
