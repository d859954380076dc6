package kv_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// A log whose header names a key is refused by its name, before anything in the
// directory is changed, and nothing is left behind.
//
// Seen red without the look at the headers.
func TestLogThatNamesAKey(t *testing.T) {
	t.Parallel()
	for _, ending := range []string{"mem", "vlog"} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir, nil)
			b := new(kv.Batch)
			b.Set([]byte("k"), []byte("v"))
			if err := s.Commit(b).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			killed := filepath.Join(t.TempDir(), "killed")
			if err := errors.Join(os.CopyFS(killed, os.DirFS(dir)), s.Close()); err != nil {
				t.Fatal(err)
			}
			names, err := filepath.Glob(filepath.Join(killed, "*."+ending))
			if err != nil || len(names) == 0 {
				t.Fatal(names, err)
			}
			data, err := os.ReadFile(names[0])
			if err != nil {
				t.Fatal(err)
			}
			data[7] ^= 1
			if err := os.WriteFile(names[0], data, 0o600); err != nil {
				t.Fatal(err)
			}
			var damage *kv.DamageError
			if _, err := kv.Open(killed, nil); !errors.As(err, &damage) || damage.File != names[0] {
				t.Errorf("opened with %v", err)
			}
			if tables, err := filepath.Glob(filepath.Join(killed, "*.sst")); err != nil || len(tables) > 0 {
				t.Errorf("something was changed: %q, %v", tables, err)
			}
		})
	}
}

// A path is no pattern: what guards a store does so in a directory whose name has
// brackets.
//
// Seen red with the directory as a part of a pattern.
func TestDirectoryWithBrackets(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a[", "b[1]", "c*?"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, dir := t.TempDir(), filepath.Join(t.TempDir(), name)
			table, _ := longRun(t, made, []byte("run/"))
			table, manifest := filepath.Join(dir, filepath.Base(table)), filepath.Join(dir, "MANIFEST")
			if err := errors.Join(os.Rename(made, dir), os.Remove(manifest)); err != nil {
				t.Fatal(err)
			}
			var damage *kv.DamageError
			s, err := kv.Open(dir, nil)
			if !errors.As(err, &damage) || damage.File != manifest {
				t.Errorf("opened with %v", err)
			}
			if err == nil {
				_ = s.Close() // the test has failed
			}
			if _, err := os.Stat(table); err != nil {
				t.Errorf("the table is gone: %v", err)
			}
		})
	}
}
