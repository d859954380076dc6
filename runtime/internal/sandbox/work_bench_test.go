package sandbox_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// quantiles reports the median, the 99th of a hundred, and the worst.
func quantiles(b *testing.B, unit string, all []time.Duration, in time.Duration) {
	b.Helper()
	slices.Sort(all)
	for name, at := range map[string]int{"p50": len(all) / 2, "p99": len(all) * 99 / 100, "worst": len(all) - 1} {
		b.ReportMetric(float64(all[at])/float64(in), unit+"-"+name)
	}
}

// BenchmarkTickerBesideComputingGuests is by how much a ticker of a millisecond
// is late while a guest computes on every processor and never calls; the aim is
// 20 ms at worst. "idle" is the same without guests, and "goroutines" with
// ordinary goroutines that compute as much: what Go and the machine, with all
// that it does besides, do to a ticker.
func BenchmarkTickerBesideComputingGuests(b *testing.B) {
	lateness := func(b *testing.B) {
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		all := make([]time.Duration, 0, b.N)
		last := time.Now()
		for range b.N {
			<-ticker.C
			now := time.Now()
			all = append(all, max(0, now.Sub(last)-time.Millisecond))
			last = now
		}
		quantiles(b, "ms-late", all, time.Millisecond)
	}
	b.Run("idle", lateness)
	b.Run("goroutines", func(b *testing.B) {
		var stop atomic.Bool
		var left sync.WaitGroup
		for range 4 {
			left.Go(func() {
				for n := 0; !stop.Load(); n++ {
				}
			})
		}
		lateness(b)
		stop.Store(true)
		left.Wait()
	})
	computing := func(m *sandbox.Module, step string) func(b *testing.B) {
		return func(b *testing.B) {
			ctx, cancel := context.WithCancelCause(b.Context())
			begun, left := make(chan struct{}, 8), make(chan struct{})
			for range 4 {
				go func() {
					e := newBench(step, `null`)
					e.Log = func(slog.Level, string) { begun <- struct{}{} }
					e.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
						begun <- struct{}{}
						return &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeJSON}, Body: []byte("null")}, nil
					}
					_, _ = m.Enter(ctx, &e.Entry)
					left <- struct{}{}
				}()
			}
			<-begun
			<-begun
			b.ResetTimer()
			lateness(b)
			cancel(errStopped)
			for range 4 {
				<-left
			}
		}
	}
	b.Run("tight loops", computing(load(b, open(b, nil), wasmtest.Guest(goodLog+wasmtest.OpLoop+wasmtest.OpAgain+wasmtest.OpEnd+wasmtest.Const(0)).Bytes()), "s"))
	b.Run("Go", computing(goGuest(b), "spin"))
}

// BenchmarkEndOfAnEndlessLoop is how long after its context's end a guest that
// computes for ever has left; the aim is 50 ms.
func BenchmarkEndOfAnEndlessLoop(b *testing.B) {
	for name, m := range map[string]*sandbox.Module{
		"tight loop": load(b, open(b, nil), wasmtest.Guest(goodLog+wasmtest.OpLoop+wasmtest.OpAgain+wasmtest.OpEnd+wasmtest.Const(0)).Bytes()),
		"Go":         goGuest(b),
	} {
		b.Run(name, func(b *testing.B) {
			var all []time.Duration
			for range b.N {
				ctx, cancel := context.WithCancelCause(b.Context())
				var at time.Time
				stop := func() { time.AfterFunc(5*time.Millisecond, func() { at = time.Now(); cancel(errStopped) }) }
				e := newBench("spin", `null`)
				e.Log = func(slog.Level, string) { stop() }
				e.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
					stop()
					return &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeJSON}, Body: []byte("null")}, nil
				}
				if _, err := m.Enter(ctx, &e.Entry); !errors.Is(err, errStopped) {
					b.Fatal(err)
				}
				all = append(all, time.Since(at))
			}
			quantiles(b, "ms", all, time.Millisecond)
		})
	}
}

// BenchmarkCounted is a Go guest that makes typed calls with JSON, in the mean
// of rounds that alternate, so that both see the same machine: with its work
// counted and without, where nothing could end or interrupt it. The aim is a
// ratio of 1.35.
func BenchmarkCounted(b *testing.B) {
	wasm, err := guest()
	if err != nil {
		b.Fatal(err)
	}
	plain, counted := open(b, nil), open(b, &sandbox.Options{CacheDir: cacheDir})
	plain.DoNotCount()
	modules := [2]*sandbox.Module{load(b, plain, wasm), load(b, counted, wasm)}
	for step, input := range map[string]string{"typed": `1000`, "sort": `200000`} {
		b.Run(step, func(b *testing.B) {
			var ratios []float64
			var spent [2]time.Duration
			for range b.N {
				var took [2]time.Duration
				for i, m := range modules {
					e := newBench(step, input).Entry
					reply := &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeJSON}, Body: []byte(`{"id":"rf_8812","amount":1990,"tags":["a","b"]}`)}
					e.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return reply, nil }
					begun := time.Now()
					if _, err := m.Enter(b.Context(), &e); err != nil {
						b.Fatal(err)
					}
					took[i] = time.Since(begun)
					spent[i] += took[i]
				}
				ratios = append(ratios, float64(took[1])/float64(took[0]))
			}
			slices.Sort(ratios)
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-uncounted")
			b.ReportMetric(ratios[len(ratios)/2], "x-uncounted-p50")
			b.ReportMetric(ratios[len(ratios)*9/10], "x-uncounted-p90")
		})
	}
}
