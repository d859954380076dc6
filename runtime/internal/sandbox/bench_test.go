package sandbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/tetratelabs/wazero"
)

// The figures are ratios to something measured in the same run, so that they
// can be compared between machines.

// BenchmarkHostCall is a call with its take, both small, from inside a guest;
// the ratio is to an exported function that does nothing, called from Go.
func BenchmarkHostCall(b *testing.B) {
	reply := &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeJSON}, Body: []byte("null")}
	entry := newBench("s", `null`).Entry
	entry.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return reply, nil }
	round := wasmtest.GoodCall + wasmtest.HostTake(1000, 1000)
	// The local counts down from b.N.
	loop := wasmtest.Const(uint32(b.N)) + "\x21\x01" + wasmtest.OpLoop + round + "\x20\x01" + wasmtest.Const(1) + "\x6b\x22\x01" + "\x0d\x00" + wasmtest.OpEnd
	m := load(b, open(b, nil), wasmtest.Guest(loop+wasmtest.Done).Bytes())
	empty := emptyCall(b)
	b.ResetTimer()
	if _, err := m.Enter(b.Context(), &entry); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(perOp(b)/empty, "x-of-empty-wasm-call")
}

// emptyCall is how many nanoseconds wazero takes to enter and leave a function
// that does nothing.
func emptyCall(b *testing.B) float64 {
	b.Helper()
	r := wazero.NewRuntimeWithConfig(b.Context(), wazero.NewRuntimeConfig())
	defer r.Close(b.Context())
	p := wasmtest.Program{Functions: []wasmtest.Function{{Export: "nothing", Shape: wasmtest.ShapeNone}}}
	m, err := r.Instantiate(b.Context(), p.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	f := m.ExportedFunction("nothing")
	const rounds = 100_000
	begun := time.Now()
	for range rounds {
		if _, err := f.Call(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(begun).Nanoseconds()) / rounds
}

// BenchmarkEnter is the whole entry of a Go guest that returns its input:
// instantiate, _initialize, step. The ratio is to the same with a guest that
// has one page of memory and initialises nothing.
func BenchmarkEnter(b *testing.B) {
	enter := func(m *sandbox.Module, e *sandbox.Entry, n int) {
		for range n {
			if _, err := m.Enter(b.Context(), e); err != nil {
				b.Fatal(err)
			}
		}
	}
	entry := newBench("plain", `null`).Entry
	small, big := load(b, open(b, nil), wasmtest.Guest(wasmtest.Done).Bytes()), goGuest(b)
	const rounds = 1000
	begun := time.Now()
	enter(small, &entry, rounds)
	least := float64(time.Since(begun).Nanoseconds()) / rounds
	b.ResetTimer()
	enter(big, &entry, b.N)
	b.StopTimer()
	b.ReportMetric(perOp(b)/least, "x-of-smallest-guest")
}

func perOp(b *testing.B) float64 { return float64(b.Elapsed().Nanoseconds()) / float64(b.N) }
