package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// resident is how much memory the process has, in bytes.
func resident(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmRSS:")
	var kilobytes int64
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// fillMemory grows the memory by pages and writes to all of them.
func fillMemory(pages int) string {
	return wasmtest.Const(uint32(pages)) + "\x40\x00" + wasmtest.OpDrop + wasmtest.Const(pageSize) + wasmtest.Const(1) + wasmtest.Const(uint32(pages)*pageSize) + "\xfc\x0b\x00"
}

// The memory of guests does not pile up: 64 of them inside calls have what they
// have grown into and no more, and once they have left it is gone, round after
// round, without waiting for the collector.
//
// Not parallel: it looks at the memory of the process. Seen red with memories on
// Go's heap, and with memories that are not given back.
func TestMemoryOfGuestsDoesNotPileUp(t *testing.T) {
	const guests, pages = 64, 32 // 128 MiB in all
	const all = guests * pages * pageSize
	s := open(t, nil)
	m := load(t, s, wasmtest.Guest(fillMemory(pages)+wasmtest.GoodCall+wasmtest.Done).Bytes())
	debug.FreeOSMemory() // what earlier tests left on the heap
	before := resident(t)
	for round := range 4 {
		var inCalls, left sync.WaitGroup
		release := make(chan struct{})
		inCalls.Add(guests)
		for range guests {
			left.Go(func() {
				b := newBench("s", `null`)
				b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
					inCalls.Done()
					<-release
					return &sandbox.Reply{}, nil
				}
				if _, err := m.Enter(t.Context(), &b.Entry); err != nil {
					t.Error(err)
				}
			})
		}
		inCalls.Wait()
		during := resident(t) - before
		close(release)
		left.Wait()
		after := resident(t) - before
		if during < all*3/4 || during > all*5/4 || after > all/4 {
			t.Errorf("round %d: %d MiB while %d guests are in calls, %d MiB after", round, during>>20, guests, after>>20)
		}
	}
}
