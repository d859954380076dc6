package runtime_test

import (
	goruntime "runtime"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

// A run that waits for its timer costs no goroutine, observed or not. The test
// does not run beside others, whose goroutines it would count.
// Seen red with a goroutine per observed run.
func TestRunsThatSleepHaveNoGoroutine(t *testing.T) {
	const runs, most = 1200, 20
	store, err := kv.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := runtimetest.Fill(t.Context(), store, runs); err != nil {
		t.Fatal(err)
	}
	before := goruntime.NumGoroutine()
	tools, err := host.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := pawl.Open(t.Context(), store, &pawl.Options{Tools: tools, CacheDir: cacheDir(), Observer: func(pawl.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	if h := engine.Health(); h.Waiting < runs/10 {
		t.Fatalf("only %d runs wait", h.Waiting)
	}
	if more := goruntime.NumGoroutine() - before; more > most {
		t.Errorf("%d goroutines more", more)
	}
}
