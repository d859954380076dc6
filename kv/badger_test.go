package kv_test

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
)

func TestConformance(t *testing.T) {
	for _, row := range []struct {
		name   string
		linger time.Duration
		lost   bool
	}{
		{"default linger, commits fail when they are durable", 0, false},
		{"linger of an hour, commits fail before they are written", time.Hour, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			kvtest.Exercise(t, conformance(kv.Options{Linger: row.linger}, row.lost))
		})
	}
}

func conformance(opts kv.Options, lost bool) kvtest.Config {
	var faults sync.Map // of each open store
	of := func(store kv.Store) *kv.Faults {
		f, _ := faults.Load(store)
		return f.(*kv.Faults)
	}
	return kvtest.Config{
		Open: func(t testing.TB, dir string) kv.Store {
			t.Helper()
			f := &kv.Faults{Lost: lost}
			store, err := kv.OpenWithFaults(dir, opts, f)
			if err != nil {
				t.Fatal(err)
			}
			faults.Store(store, f)
			return store
		},
		Break: func(_ testing.TB, store kv.Store) { of(store).FailNext.Store(true) },
		Fill:  func(_ testing.TB, store kv.Store, full bool) { of(store).Fill(full) },
		Hold:  replace,
		Lacks: map[kvtest.Ability]string{
			kvtest.Cutting: "its power ends with the process: other tests kill one",
			kvtest.Sharing: "one process has the directory",
		},
	}
}

// replace puts a copy of dir in its place.
func replace(t testing.TB, dir string) {
	t.Helper()
	if err := os.CopyFS(dir+".copy", os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".copy", dir); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, opts *kv.Options) kv.Store {
	t.Helper()
	store, err := kv.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
