package runtime_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// BenchmarkMemory is what runs take that are all inside a call at once, over
// what the process had with the module deployed and no run: a Go guest, and the
// smallest guest that there can be. x-of-guest-memory is that over the memory
// with which the guests begin.
func BenchmarkMemory(b *testing.B) {
	script := folder(b, "", `tools = ["keyed"]`)
	for _, row := range []struct {
		guest  string
		runs   int
		folder fstest.MapFS
		module string
		input  string
	}{
		{"go", 64, script, "script.wasm", `{"one":[{"call":"keyed"}]}`},
		{"smallest", 512, rawFolder("keyed", 1), "raw.wasm", `{}`},
	} {
		b.Run(fmt.Sprintf("guest=%s/runs=%d", row.guest, row.runs), func(b *testing.B) {
			pages := initialPages(b, row.folder[row.module].Data)
			var idle, loaded int
			for b.Loop() {
				i, l := underLoad(b, row.folder, row.input, row.runs)
				idle, loaded = idle+i, loaded+l
			}
			idle, loaded = idle/b.N, loaded/b.N
			more := float64(loaded-idle) / float64(row.runs)
			b.ReportMetric(float64(idle)/1024, "idle-MiB")
			b.ReportMetric(float64(loaded)/1024, "MiB")
			b.ReportMetric(more, "KiB/run")
			b.ReportMetric(more/float64(pages*64), "x-of-guest-memory")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// underLoad returns the process's resident memory in kB without a run, and with
// n of them inside a call.
func underLoad(b *testing.B, files fstest.MapFS, input string, n int) (idle, loaded int) {
	b.Helper()
	arrived, release := make(chan struct{}), make(chan struct{})
	hold := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed, Timeout: time.Hour}}
	hold.f = func(int64, *host.Call) host.Answer {
		arrived <- struct{}{}
		<-release
		return fine
	}
	engine, done := benchEngine(b, &pawl.Options{Workers: n}, hold)
	defer done()
	w, err := engine.Deploy(b.Context(), files)
	if err != nil {
		b.Fatal(err)
	}
	debug.FreeOSMemory()
	idle = rss(b)["VmRSS"]
	var runs []*pawl.Run
	for range n {
		r, err := pawl.Start(b.Context(), w, "", raw(input), nil)
		if err != nil {
			b.Fatal(err)
		}
		runs = append(runs, r)
	}
	for range n {
		<-arrived
	}
	debug.FreeOSMemory()
	loaded = rss(b)["VmRSS"]
	close(release)
	for _, r := range runs {
		if c, err := r.Wait(b.Context(), 0); err != nil || c.State != pawl.StateCompleted {
			b.Fatalf("%v, %+v", err, c)
		}
	}
	return idle, loaded
}

// initialPages is the memory with which the module begins, in pages of 64 KiB.
func initialPages(b *testing.B, wasm []byte) int {
	b.Helper()
	box, err := sandbox.New(&sandbox.Options{CacheDir: cacheDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer box.Close(context.Background())
	m, err := box.Module(b.Context(), digest(wasm), func() ([]byte, error) { return wasm, nil })
	if err != nil {
		b.Fatal(err)
	}
	return int(m.MinMemoryPages())
}
