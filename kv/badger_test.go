package kv_test

import (
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/kv/kvtest"
)

func TestConformance(t *testing.T) {
	for name, linger := range map[string]time.Duration{"default linger": 0, "linger of an hour": time.Hour} {
		t.Run(name, func(t *testing.T) {
			kvtest.Exercise(t, func(t *testing.T, dir string) kv.Store {
				t.Helper()
				return open(t, dir, &kv.Options{Linger: linger})
			})
		})
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
