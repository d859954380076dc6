package kv_test

import (
	"os"
	"path/filepath"
	"testing"
)

// Seen red without removeEmptyLogs: Badger does not open.
func TestLogsWithoutAByteAreLeftovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := open(t, dir, nil)
	wait(t, store.Commit(batch("k", "v")))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00077.mem", "000077.vlog"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store = open(t, dir, nil)
	wait(t, store.Commit(batch("l", "v")))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenMakesTheDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := open(t, dir, nil).Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v; want a directory that others cannot read", info.Mode(), err)
	}
}
