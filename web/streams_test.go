package web_test

import (
	"net/http"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Two hundred open pages learn of a change, and cost what is bounded here: a
// few goroutines and tens of KiB each, both ends of the connection counted.
//
// Seen red with streams that are told of the first change alone.
func TestTwoHundredOpenPages(t *testing.T) {
	const pages, most = 200, 200 << 10 // bytes of one stream, both ends
	f := setup(t)
	run := f.inState(pawl.StateRunning)
	s := serve(t, f.engine, nil)
	memory, goroutines := used()
	streams := make([]*events, pages)
	for i := range streams {
		streams[i] = s.open("api/v1/runs/running/events")
		if now, _ := streams[i].checkpoint(); now.State != pawl.StateRunning {
			t.Fatalf("%s", now.State)
		}
	}
	m, g := used()
	t.Logf("%d streams: %d KiB and %.1f goroutines each, both ends of each connection", pages, (m-memory)/pages>>10, float64(g-goroutines)/pages)
	if (m-memory)/pages > most || (g-goroutines)/pages > 8 {
		t.Errorf("%d bytes and %d goroutines each", (m-memory)/pages, (g-goroutines)/pages)
	}
	began := time.Now()
	f.world.release()
	if c := f.rest(run); c.State != pawl.StateCompleted {
		t.Fatal(c.State)
	}
	ended := time.Now()
	var wg sync.WaitGroup
	for _, e := range streams {
		wg.Go(func() {
			for {
				got, ok := e.next()
				if !ok {
					t.Error("a stream ended")
					return
				}
				if got.name == "checkpoint" && stateOf(got.data) == pawl.StateCompleted {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("the run took %v more, all pages knew %v later", ended.Sub(began), time.Since(ended))
	s.get("api/v1/health").want(t, http.StatusOK) // and the server has time for others
}

// used are the bytes and the goroutines of this process.
func used() (memory, goroutines int) {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse), goruntime.NumGoroutine()
}
