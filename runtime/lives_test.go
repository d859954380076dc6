package runtime_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// lives are the lives of one engine after the other over a disk in memory, each
// up to a power cut or its end in good order. It works in a bubble, if the
// modules are built before.
type lives struct {
	t     *testing.T
	disk  *kvtest.Disk
	tools *host.Registry
	box   *sandbox.Sandbox // of a bubble, whose channels are its own
}

func newLives(t *testing.T, tools ...host.Tool) *lives {
	t.Helper()
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(&sandbox.Options{CacheDir: cacheDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &lives{t: t, disk: kvtest.NewDisk(nil), tools: registry, box: box}
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
	opts.Share(l.box)
	var mu sync.Mutex // guards came, and what cut keeps
	if cut != nil {
		opts.Observer = func(e pawl.Event) {
			mu.Lock()
			defer mu.Unlock()
			if cut(e) {
				l.disk.Cut()
				came = true
			}
		}
	}
	e, err := pawl.Open(l.t.Context(), store, opts)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { // also when do ends the test: a bubble waits for all
		err := errors.Join(e.Check(), e.Close(), store.Close())
		mu.Lock()
		defer mu.Unlock()
		if err != nil && !came {
			l.t.Errorf("a life without a cut: %v", err)
		}
	}()
	do(e)
	return // what the cut has set, once all have left
}
