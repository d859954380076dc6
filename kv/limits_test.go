package kv_test

import (
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// What is within the limits lands; what is above them is refused at once.
//
// Seen red with MaxBatch above what Badger takes.
func TestBatchesUpToTheLimitLand(t *testing.T) {
	t.Parallel()
	many := func(n, size int) *kv.Batch {
		b := &kv.Batch{}
		for i := range n {
			b.Set([]byte{byte(i >> 8), byte(i)}, make([]byte, size))
		}
		return b
	}
	one := func(key, value int) *kv.Batch {
		b := &kv.Batch{}
		b.Set(make([]byte, key), make([]byte, value))
		return b
	}
	for name, row := range map[string]struct {
		batch *kv.Batch
		fits  bool
	}{
		"one value":            {one(1, kv.MaxBatch-65), true},
		"one value too large":  {one(1, kv.MaxBatch-64), false},
		"many changes":         {many(kv.MaxChanges, 1), true},
		"one change too many":  {many(kv.MaxChanges+1, 1), false},
		"small ones, together": {many(5_000, kv.MaxBatch/5_000-66), true},
		"too large together":   {many(5_000, kv.MaxBatch/5_000-65), false},
		"a long key":           {one(kv.MaxKey, 10), true},
		"a key too long":       {one(kv.MaxKey+1, 10), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, t.TempDir(), nil)
			defer store.Close()
			p := store.Commit(row.batch)
			if !row.fits && !done(p) {
				t.Error("not refused at once")
			}
			if err := p.Wait(t.Context()); row.fits != (err == nil) || !row.fits && !errors.Is(err, kv.ErrBatchTooLarge) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLargestEntryFitsWithItsCompany(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir(), nil)
	defer store.Close()
	chain := kv.NewChain(store, make([]byte, 1<<10))
	with := &kv.Batch{}
	for size := 0; size < 10; size++ {
		with.Set([]byte{byte(size)}, make([]byte, kv.MaxWith/10-65))
	}
	if with.Size() != kv.MaxWith {
		t.Fatalf("the company has %d bytes", with.Size())
	}
	wait(t, chain.Append(make([]byte, kv.MaxEntry), with))
}
