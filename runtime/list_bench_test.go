package runtime_test

import (
	goruntime "runtime"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

// BenchmarkList lists 100,000 runs, half of them open in several states. What a
// list takes, in time of processors, stands beside a raw scan of the keys and
// values of the ended runs' listings in the same store: the least that a filter
// which finds nothing can take. MiB is what the open listings take in memory, with everything else that
// an engine without running runs has.
func BenchmarkList(b *testing.B) {
	const runs = 100_000
	store, err := kv.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	began := time.Now()
	if err := runtimetest.Fill(b.Context(), store, runs); err != nil {
		b.Fatal(err)
	}
	b.Logf("filled in %v", time.Since(began))
	tools, err := host.NewRegistry()
	if err != nil {
		b.Fatal(err)
	}
	before := heap()
	engine, err := pawl.Open(b.Context(), store, &pawl.Options{Tools: tools, NoRecovery: true, CacheDir: cacheDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	memory := float64(heap()-before) / (1 << 20)
	began = time.Now()
	if _, err := engine.List(nil); err != nil {
		b.Fatal(err)
	}
	b.Logf("the first list of all, which counts the ended runs, in %v", time.Since(began))
	for _, row := range []struct {
		name  string
		query pawl.Query
		pages int
		items int // of the last page
	}{
		{"the first page", pawl.Query{}, 1, 50},
		{"page 100", pawl.Query{Limit: 500}, 100, 500},
		{"page 101, of ended runs", pawl.Query{Limit: 500}, 101, 500},
		{"in a state", pawl.Query{State: pawl.StateNeedsDecision}, 1, 50},
		{"with a text", pawl.Query{Text: "w099999"}, 1, 1},
		{"with a text that no run has", pawl.Query{Text: "nowhere"}, 1, 0},
		{"of another workflow", pawl.Query{Workflow: "nothing"}, 1, 0},
		{"with a label", pawl.Query{Label: "order", Value: "W000100"}, 1, 1},
		{"with a label of half of them", pawl.Query{Label: "region", Value: "us"}, 1, 50},
	} {
		b.Run(row.name, func(b *testing.B) {
			q := row.query
			for range row.pages - 1 {
				page, err := engine.List(&q)
				if err != nil {
					b.Fatal(err)
				}
				q.After = page.Next
			}
			var spent, least time.Duration
			for b.Loop() {
				began := processor(b)
				page, err := engine.List(&q)
				if err != nil || len(page.Items) != row.items {
					b.Fatalf("%d runs, %v", len(page.Items), err)
				}
				spent += processor(b) - began
				b.StopTimer()
				began = processor(b)
				rawScan(b, store, "e/")
				least += processor(b) - began
				b.StartTimer()
			}
			b.ReportMetric(float64(spent)/float64(least), "ratio")
			b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "cpu-ms/list")
			b.ReportMetric(memory, "MiB")
		})
	}
}

func heap() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// processor is the time that the processors have spent on this process: other
// work on the machine does not change it.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rawScan reads everything under a prefix.
func rawScan(b *testing.B, store kv.Store, prefix string) {
	n := 0
	if err := store.View(func(v kv.View) error {
		for _, err := range v.Scan(kv.Range{Prefix: []byte(prefix)}) {
			if n++; err != nil {
				return err
			}
		}
		return nil
	}); err != nil || n == 0 {
		b.Fatal(n, err)
	}
}
