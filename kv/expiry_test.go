package kv_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// keys are those that a view shows: by scans with and without values, forwards
// and backwards, and by Get.
func keys(t *testing.T, v kv.View) (names []string) {
	t.Helper()
	var all [4][]string
	for i := range all {
		for item, err := range v.Scan(kv.Range{KeysOnly: i%2 == 0, Reverse: i > 1}) {
			if err != nil {
				t.Fatal(err)
			}
			if (item.Value == nil) != (i%2 == 0) {
				t.Errorf("value %v of a scan %d", item.Value, i)
			}
			all[i] = append(all[i], string(item.Key))
			if _, err := v.Get(item.Key); err != nil {
				t.Errorf("%s is found by a scan alone: %v", item.Key, err)
			}
		}
	}
	slices.Reverse(all[2])
	slices.Reverse(all[3])
	for _, other := range all[1:] {
		if !slices.Equal(all[0], other) {
			t.Errorf("got %q and %q", all[0], other)
		}
	}
	return all[0]
}

func wantKeys(t *testing.T, store kv.Store, want ...string) {
	t.Helper()
	if err := store.View(func(v kv.View) error {
		if got := keys(t, v); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// Seen red with Badger's own expiry: a key went in the middle of a view. And
// with KeysOnly scans that do not look, and requirements that do not.
func TestKeysExpireBetweenViewsOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		store := open(t, dir, nil)
		b := batch("stays", "v")
		b.SetUntil([]byte("goes"), []byte("v"), time.Now().Add(10*time.Second))
		b.SetUntil([]byte("later"), []byte("v"), time.Now().Add(time.Hour))
		b.SetUntil([]byte("over"), []byte("v"), time.Now().Add(-time.Second))
		b.SetUntil([]byte("replaced"), []byte("v"), time.Now().Add(time.Second))
		b.Set([]byte("replaced"), []byte("v"))
		wait(t, store.Commit(b))
		wantKeys(t, store, "goes", "later", "replaced", "stays")
		needs := batch("stays", "w")
		needs.Require([]byte("goes"), []byte("v"))
		wait(t, store.Commit(needs))
		if err := store.View(func(v kv.View) error {
			time.Sleep(time.Minute)
			wantKeys(t, store, "later", "replaced", "stays")
			if got := keys(t, v); !slices.Equal(got, []string{"goes", "later", "replaced", "stays"}) {
				t.Errorf("the view moved: %q", got)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := store.Commit(needs).Wait(t.Context()); !errors.Is(err, kv.ErrRequirement) {
			t.Errorf("a requirement sees an expired key: %v", err)
		}
		again := &kv.Batch{}
		again.RequireAbsent([]byte("goes"))
		again.SetUntil([]byte("goes"), []byte("v"), time.Now().Add(time.Minute))
		wait(t, store.Commit(again))
		wantKeys(t, store, "goes", "later", "replaced", "stays")
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		store = open(t, dir, nil)
		wantKeys(t, store, "goes", "later", "replaced", "stays")
		time.Sleep(125 * time.Minute) // Badger has forgotten them too by then
		wantKeys(t, store, "replaced", "stays")
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
