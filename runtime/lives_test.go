package runtime_test

import (
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// lives are the lives of one engine after the other over a disk in memory, each
// up to a power cut or its end in good order. It works in a bubble.
type lives struct {
	t     *testing.T
	disk  *kvtest.Disk
	tools *host.Registry
}

func newLives(t *testing.T, tools ...host.Tool) *lives {
	t.Helper()
	if _, err := script(); err != nil { // a process, which a bubble cannot wait for
		t.Fatal(err)
	}
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return &lives{t: t, disk: kvtest.NewDisk(nil), tools: registry}
}

// live is one life: do is given its engine, and the power is cut at the first
// event that fits. It reports whether that came. Cut may be nil.
func (l *lives) live(cut func(pawl.Event) bool, do func(e *pawl.Engine)) (came bool) {
	l.t.Helper()
	store, err := l.disk.Open()
	if err != nil {
		l.t.Fatal(err)
	}
	opts := &pawl.Options{Tools: l.tools, CacheDir: cacheDir(), NoRecovery: true}
	gone := make(chan struct{}, 1)
	if cut != nil {
		opts.Observer = func(e pawl.Event) {
			if cut(e) {
				l.disk.Cut()
				select {
				case gone <- struct{}{}:
				default:
				}
			}
		}
	}
	e, err := pawl.Open(l.t.Context(), store, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	do(e)
	came = len(gone) > 0
	if err := e.Check(); err != nil && !came {
		l.t.Errorf("the store is not sound: %v", err)
	}
	if err := e.Close(); err != nil && !came {
		l.t.Error(err)
	}
	if err := store.Close(); err != nil && !came {
		l.t.Error(err)
	}
	return came
}
