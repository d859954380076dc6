package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// rawLedger is a receiver in this process that answers at once.
type rawLedger struct {
	mu       sync.Mutex // guards requests
	requests map[string]bool
}

// tool makes a keyed tool of the ledger.
func (l *rawLedger) tool(name string) host.Tool {
	return host.Func(name, func(_ context.Context, _ *host.Call, req []byte) ([]byte, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.requests == nil {
			l.requests = map[string]bool{}
		}
		l.requests[string(req)] = true
		return []byte("ok"), nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}})
}

func (l *rawLedger) different() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.requests)
}

// BenchmarkEffects is how many durable effects a second runs make side by side,
// with a keyed tool in this process that answers at once and a guest that does
// nothing else: what is left is the protocol and the disk. x-of-fsync is that
// rate over the one at which one writer can sync 1 KiB of a plain file, measured
// before and behind it. For a minute's sustained rate:
//
//	go test -run xxx -bench Effects -benchtime 1m ./runtime
func BenchmarkEffects(b *testing.B) {
	for _, row := range []struct{ runs, calls int }{{1, 500}, {64, 100}, {512, 50}} {
		b.Run(fmt.Sprintf("runs=%d", row.runs), func(b *testing.B) {
			var l rawLedger
			engine, done := benchEngine(b, &pawl.Options{Workers: row.runs}, l.tool("keyed"))
			defer done()
			w, err := engine.Deploy(b.Context(), rawFolder("keyed", row.calls))
			if err != nil {
				b.Fatal(err)
			}
			before := fsyncs(b, 50) / 50
			for b.Loop() {
				runMany(b, w, row.runs)
			}
			effects := float64(b.N*row.runs*row.calls) / b.Elapsed().Seconds()
			raw := 2 / (before + fsyncs(b, 50)/50).Seconds()
			b.ReportMetric(effects, "effects/s")
			b.ReportMetric(raw, "fsync/s")
			b.ReportMetric(effects/raw, "x-of-fsync")
			b.ReportMetric(0, "ns/op") // a round is no unit
		})
	}
}

// runMany makes n runs side by side, from start to end.
func runMany(b *testing.B, w *pawl.Workflow, n int) {
	b.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			r, err := pawl.Start(b.Context(), w, "", raw(`{}`), nil)
			if err != nil {
				b.Error(err)
				return
			}
			if c, err := r.Wait(b.Context(), 0); err != nil || c.State != pawl.StateCompleted {
				b.Errorf("%v, %+v", err, c)
			}
		})
	}
	if all.Wait(); b.Failed() {
		b.FailNow()
	}
}

// benchEngine is an engine over a store of its own on the disk; done closes both.
func benchEngine(b *testing.B, opts *pawl.Options, tools ...host.Tool) (engine *pawl.Engine, done func()) {
	b.Helper()
	registry, err := host.NewRegistry(tools...)
	if err != nil {
		b.Fatal(err)
	}
	store, err := kv.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	opts.Tools, opts.CacheDir = registry, cacheDir()
	if engine, err = pawl.Open(b.Context(), store, opts); err != nil {
		b.Fatal(err)
	}
	return engine, func() {
		if err := errors.Join(engine.Close(), store.Close()); err != nil {
			b.Error(err)
		}
	}
}
