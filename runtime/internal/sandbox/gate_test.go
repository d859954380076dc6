package sandbox_test

import (
	"context"
	"errors"
	"log/slog"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// executing counts the guests between two of their log lines, which they write
// while they execute, and remembers the most.
type executing struct{ now, most atomic.Int64 }

func (e *executing) enter() {
	n := e.now.Add(1)
	for most := e.most.Load(); n > most && !e.most.CompareAndSwap(most, n); most = e.most.Load() {
	}
}

// Many more guests than processors are entered, and all wait inside calls at
// the same moment; of those that execute there are never more than processors.
//
// Seen red without the gate, and (it stands still) with a gate that a guest
// inside a call does not leave.
func TestNoMoreGuestsExecuteThanProcessors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sandbox.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		const guests = 64
		m := load(t, s, wasmtest.Guest(goodLog+wasmtest.GoodCall+goodLog+wasmtest.GoodCall+wasmtest.Done).Bytes())
		var counted executing
		var inCalls atomic.Int64
		var all sync.WaitGroup
		release := make(chan struct{})
		for range guests {
			all.Go(func() {
				b := newBench("s", `null`)
				b.Log = func(slog.Level, string) {
					counted.enter()
					goruntime.Gosched() // others would come in now
				}
				b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
					counted.now.Add(-1)
					inCalls.Add(1)
					<-release
					return &sandbox.Reply{}, nil
				}
				if _, err := m.Enter(t.Context(), &b.Entry); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := inCalls.Load(); n != guests {
			t.Errorf("%d of %d guests are inside calls", n, guests)
		}
		close(release)
		all.Wait()
		if most := counted.most.Load(); most > int64(goruntime.GOMAXPROCS(0)) {
			t.Errorf("%d guests executed at once on %d processors", most, goruntime.GOMAXPROCS(0))
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Seen red with a wait that ends only with a place.
func TestWaitingForAPlaceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sandbox.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.SetGuests(1)
		m := load(t, s, wasmtest.Guest(goodLog+wasmtest.GoodCall+wasmtest.Done).Bytes())
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: "pawl_describe", Shape: wasmtest.ShapeStep, Code: wasmtest.Done})
		describing := load(t, s, p.Bytes())
		leave := make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() { // it has the only place
			b := newBench("s", `null`)
			b.Log = func(slog.Level, string) { <-leave }
			if _, err := m.Enter(t.Context(), &b.Entry); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		var waiting atomic.Int64
		wait := func(enter func() error) {
			waiting.Add(1)
			all.Go(func() {
				if err := enter(); !errors.Is(err, errStopped) {
					t.Errorf("ended with %v", err)
				}
				waiting.Add(-1)
			})
		}
		wait(func() error { _, err := m.Enter(ctx, &newBench("s", `null`).Entry); return err })
		wait(func() error { _, err := describing.DescribeText(ctx); return err })
		synctest.Wait()
		if n := waiting.Load(); n != 2 {
			t.Errorf("%d wait for a place", n)
		}
		cancel(errStopped)
		synctest.Wait()
		if n := waiting.Load(); n != 0 {
			t.Errorf("%d still wait after the context's end", n)
		}
		close(leave)
		all.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A guest that comes back from a call waits for a place, until its context
// ends.
//
// Seen red with a guest that goes on without a place.
func TestComingBackFromACallWaitsForAPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := sandbox.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.SetGuests(1)
		caller := load(t, s, wasmtest.Guest(wasmtest.GoodCall+goodLog+wasmtest.Done).Bytes())
		logger := load(t, s, wasmtest.Guest(goodLog+wasmtest.Done).Bytes())
		answer, leave := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		ctx, cancel := context.WithCancelCause(t.Context())
		all.Go(func() {
			b := newBench("s", `null`)
			b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
				<-answer
				return &sandbox.Reply{}, nil
			}
			_, err := caller.Enter(ctx, &b.Entry)
			if !errors.Is(err, errStopped) || len(b.lines) != 0 {
				t.Errorf("%v, logged %q", err, b.lines)
			}
		})
		synctest.Wait()
		all.Go(func() {
			b := newBench("s", `null`)
			b.Log = func(slog.Level, string) { <-leave }
			if _, err := logger.Enter(t.Context(), &b.Entry); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		close(answer)
		synctest.Wait()
		cancel(errStopped)
		synctest.Wait()
		close(leave)
		all.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
