package kv_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

const benchValue = 300 // bytes, of an intent

// BenchmarkCommit measures durable commits of writers that each wait for their
// own, and in the same run how often a plain file of the same directory can be
// written and synced with the same bytes, one write at a time. "x-of-fsync" is
// the first rate divided by the second.
func BenchmarkCommit(b *testing.B) {
	for _, writers := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			dir := b.TempDir()
			plain := fsyncRate(b, dir)
			store, err := kv.Open(filepath.Join(dir, "store"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			var last atomic.Uint64
			b.ResetTimer()
			commitAll(b, store, writers, &last)
			b.StopTimer()
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "commits/s")
			b.ReportMetric(plain, "fsync/s")
			b.ReportMetric(rate/plain, "x-of-fsync")
			b.ReportMetric(float64(b.N)/float64(last.Load()), "batches/sync")
		})
	}
}

func commitAll(b *testing.B, store kv.Store, writers int, last *atomic.Uint64) {
	b.Helper()
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			value := make([]byte, benchValue)
			for n := 0; next.Add(1) <= int64(b.N); n++ {
				batch := &kv.Batch{}
				batch.Set(fmt.Appendf(nil, "run/%04d/%08d", w, n), value)
				p := store.Commit(batch)
				if err := p.Wait(b.Context()); err != nil {
					b.Error(err)
					return
				}
				if p.Number() > last.Load() {
					last.Store(p.Number())
				}
			}
		})
	}
	group.Wait()
}

// fsyncRate returns how many writes with a sync a plain file takes per second:
// in place, as Badger writes its log. A file that grows is slower, since its new
// size is written too.
func fsyncRate(b *testing.B, dir string) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	value := make([]byte, benchValue)
	start, count := time.Now(), 0
	for ; time.Since(start) < time.Second; count++ {
		if _, err := f.WriteAt(value, int64(count*benchValue)%(1<<19)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return float64(count) / time.Since(start).Seconds()
}
