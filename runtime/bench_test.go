package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// BenchmarkRun is one run of the refund's shape after the other, with tools
// that answer at once: what is left is the guests and the disk. x-of-fsync is
// its time over that of the same number of synced writes (7) to a plain file.
func BenchmarkRun(b *testing.B) {
	registry, err := host.NewRegistry(
		quickTool("keyed", host.Keyed, nil), quickTool("read", host.Read, nil), quickTool("asked", host.Verify, nil))
	if err != nil {
		b.Fatal(err)
	}
	store, err := kv.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	engine, err := pawl.Open(b.Context(), store, &pawl.Options{Tools: registry, CacheDir: cacheDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer engine.Close()
	w, err := engine.Deploy(b.Context(), folder(b, "",
		`tools = ["keyed"]`, `tools = ["read", "asked"]`, `tools = ["read", "keyed"]`, `tools = ["keyed", "asked"]`))
	if err != nil {
		b.Fatal(err)
	}
	input := json.RawMessage(`{"one":[{"call":"keyed"}],"two":[{"call":"read"},{"call":"asked"}],
		"three":[{"call":"read"},{"call":"keyed"}],"four":[{"call":"keyed"},{"call":"asked"}]}`)
	limit := fsyncs(b, 7)
	for b.Loop() {
		r, err := pawl.Start(b.Context(), w, "", input, nil)
		if err != nil {
			b.Fatal(err)
		}
		if c, err := r.Wait(b.Context(), 0); err != nil || c.State != pawl.StateCompleted {
			b.Fatal(err, fmt.Sprintf("%+v", c))
		}
	}
	per := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(per)/float64(limit), "x-of-fsync")
}

// fsyncs is the mean time of n synced writes of 1 KiB, one behind the other in a
// file that is there already, as the store's log is: what makes a file longer
// takes the file system a second write.
func fsyncs(b *testing.B, n int) time.Duration {
	const rounds, size = 20, 1 << 10
	f, err := os.Create(filepath.Join(b.TempDir(), "limit"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text := make([]byte, size)
	for range rounds * n {
		if _, err := f.Write(text); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for i := range rounds * n {
		if _, err := f.WriteAt(text, int64(i*size)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start) / rounds
}
