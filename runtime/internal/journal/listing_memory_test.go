package journal

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
)

// An open run takes less than 1 KiB of memory, whatever it is called.
//
// Seen red with titles that are not cut.
func TestMemoryOfAnOpenRun(t *testing.T) {
	const runs = 20_000
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	var o opened
	for i := range runs {
		start := &Start{ExternalID: fmt.Sprintf("%0128d", i), Workflow: strings.Repeat("w", 64), Title: strings.Repeat("t", 800)}
		s := &State{Start: start, Phase: PhaseDecision, Park: &Park{Code: strings.Repeat("c", 32)}}
		o.set(fmt.Sprintf("%026d", i), s.Listing())
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	size := (after.HeapAlloc - before.HeapAlloc) / runs
	t.Logf("%d bytes for one with the longest texts", size)
	if size >= 1<<10 {
		t.Errorf("%d bytes", size)
	}
	goruntime.KeepAlive(&o)
}
