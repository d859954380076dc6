package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"go.uber.org/goleak"
)

// parked is a reason for which a caller leaves a guest.
type parked struct{ call int }

func (p *parked) Error() string { return fmt.Sprintf("parked at call %d", p.call) }

// Not parallel: it looks at the goroutines of the process. Seen red with the
// instance not closed.
func TestParkLeavesNothing(t *testing.T) {
	long(t)
	m := goGuest(t)
	before := goleak.IgnoreCurrent()
	park := func() weak.Pointer[bench] {
		b := newBench("echo", `null`)
		b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
			return nil, fmt.Errorf("wrapped: %w", &parked{len(b.requests)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		exit, err := m.Enter(ctx, &b.Entry)
		if reason := new(parked); !errors.As(err, &reason) || exit != nil {
			t.Fatalf("%v, %v", exit, err)
		}
		if err.Error() != "wrapped: parked at call 0" {
			t.Errorf("error text %q", err)
		}
		return weak.Make(b)
	}
	var entries []weak.Pointer[bench]
	for range 20 {
		entries = append(entries, park())
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	goruntime.GC()
	goruntime.GC()
	var kept int
	for _, e := range entries {
		if e.Value() != nil {
			kept++
		}
	}
	if kept > 1 { // a stack may hold the last one
		t.Errorf("%d of %d instances are still there", kept, len(entries))
	}
}

// Seen red without the recovering: wazero gives the panic back as a trap.
func TestPanicInAFunctionOfTheEntryIsABug(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	for name, prepare := range map[string]func(b *bench){
		"nil pointer in Call": func(b *bench) {
			b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return faulty(nil) }
		},
		"neither reply nor error": func(b *bench) {
			b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return nil, nil }
		},
		"panic in Random": func(b *bench) {
			b.Random = func(int) [32]byte { panic("no key") }
		},
		"panic in Log": func(b *bench) {
			b.Step = "lines"
			b.Log = func(slog.Level, string) { panic("no log") }
		},
		"panic in Log of an unfinished line": func(b *bench) {
			b.Step = "lines"
			b.Log = func(_ slog.Level, line string) {
				if strings.HasPrefix(line, "six") {
					panic("no log")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench("echo", `null`)
			prepare(b)
			exit, err := m.Enter(t.Context(), &b.Entry)
			var bug *sandbox.Bug
			if !errors.As(err, &bug) {
				t.Fatalf("%v, %T: %v", exit, err, err)
			}
			if trap := new(sandbox.Trap); errors.As(err, &trap) || bug.Value == nil || len(bug.Stack) == 0 {
				t.Errorf("%+v", bug)
			}
			if name == "nil pointer in Call" && !strings.Contains(string(bug.Stack), "faulty") {
				t.Errorf("the stack does not show where:\n%s", bug.Stack)
			}
		})
	}
}

//go:noinline
func faulty(r *sandbox.Reply) (*sandbox.Reply, error) {
	r.Body = nil
	return r, nil
}

var errStopped = errors.New("the operator stopped the process")

// Seen red without the runtime's close on a context that is done.
func TestComputingGuestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	endless := wasmtest.OpLoop + wasmtest.OpAgain + wasmtest.OpEnd
	first := func(export string) []byte {
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: export, Shape: wasmtest.ShapeNone, Code: goodLog + endless})
		p.Start = "go"
		return p.Bytes()
	}
	wasm, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, &sandbox.Options{CacheDir: cacheDir})
	for name, row := range map[string]struct {
		step string
		wasm []byte
	}{
		"a loop in Go":                 {"spin", wasm},
		"a bare loop":                  {"s", wasmtest.Guest(goodLog + endless + wasmtest.Const(0)).Bytes()},
		"a loop in _initialize":        {"s", first("_initialize")},
		"a loop in the start function": {"s", first("go")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			b := newBench(row.step, `null`)
			// The guest says that it is about to loop; both doors are used.
			b.Log = func(slog.Level, string) { cancel(errStopped) }
			b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
				cancel(errStopped)
				return &sandbox.Reply{}, nil
			}
			if _, err := load(t, s, row.wasm).Enter(ctx, &b.Entry); !errors.Is(err, errStopped) {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
	t.Run("the time is up", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 1, errStopped)
		defer cancel()
		<-ctx.Done()
		if _, err := load(t, s, wasm).Enter(ctx, &newBench("spin", `null`).Entry); !errors.Is(err, errStopped) {
			t.Errorf("%T: %v", err, err)
		}
	})
}

var goodLog = wasmtest.HostPut(3, wasmtest.ToolAt, uint32(len(wasmtest.ToolText)))

// Seen red without the look at the context in host functions.
func TestGuestInACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	for name, answer := range map[string]func(ctx context.Context) error{
		"the call returns the context's error": func(ctx context.Context) error { return ctx.Err() },
		"the call returns the cause":           context.Cause,
		"the call returns its own error":       func(context.Context) error { return &parked{} },
		"the call returns a reply":             func(context.Context) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			b := newBench("echo", `null`)
			var returned error
			b.Call = func(ctx context.Context, _ *sandbox.Request) (*sandbox.Reply, error) {
				cancel(errStopped)
				<-ctx.Done()
				returned = answer(ctx)
				return &sandbox.Reply{}, returned
			}
			_, err := m.Enter(ctx, &b.Entry)
			if !errors.Is(err, errStopped) || !errors.Is(err, returned) && returned != nil {
				t.Errorf("%T: %v", err, err)
			}
		})
	}
}

// Seen red without the waiting.
func TestCloseWaitsForGuests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wasm := wasmtest.Guest(wasmtest.GoodCall + wasmtest.Done).Bytes()
		s, err := sandbox.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		m := load(t, s, wasm)
		b := newBench("s", `null`)
		leave, left, closed := make(chan struct{}), make(chan error, 1), make(chan error, 1)
		b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
			<-leave
			return &sandbox.Reply{}, nil
		}
		go func() { _, err := m.Enter(t.Context(), &b.Entry); left <- err }()
		synctest.Wait()

		hurry, cancel := context.WithCancelCause(t.Context())
		cancel(errStopped)
		if err := s.Close(hurry); !errors.Is(err, errStopped) {
			t.Errorf("Close in a hurry: %v", err)
		}
		if _, err := m.Enter(t.Context(), &newBench("s", `null`).Entry); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("Enter: %v", err)
		}
		if _, err := s.Module(t.Context(), digest(wasm), nil); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("Module: %v", err)
		}

		go func() { closed <- s.Close(t.Context()) }()
		synctest.Wait()
		if len(closed) != 0 {
			t.Error("closed with a guest inside")
		}
		close(leave)
		if err := errors.Join(<-left, <-closed); err != nil {
			t.Error(err)
		}
	})
}

// Seen red without the limit of replies.
func TestPayloadLimitsOfTheHost(t *testing.T) {
	t.Parallel()
	m := load(t, open(t, nil), wasmtest.Guest(wasmtest.GoodCall+wasmtest.Done).Bytes())
	b := newBench("s", strings.Repeat(" ", sandbox.MaxPayload+1))
	if _, err := m.Enter(t.Context(), &b.Entry); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("input: %v", err)
	}
	b = newBench("s", `null`)
	b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) {
		return &sandbox.Reply{Body: make([]byte, sandbox.MaxPayload+1)}, nil
	}
	if _, err := m.Enter(t.Context(), &b.Entry); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("reply: %v", err)
	}
}

// Seen red with a request that aliases the guest's memory.
func TestRequestBelongsToTheCallee(t *testing.T) {
	t.Parallel()
	// The second call has the same place in memory, after it was overwritten.
	overwrite := wasmtest.Const(wasmtest.FrameAt+4+15) + wasmtest.Const(uint32('1')*0x01010101) + "\x36\x00\x00"
	m := load(t, open(t, nil), wasmtest.Guest(wasmtest.GoodCall+overwrite+wasmtest.GoodCall+wasmtest.Done).Bytes())
	b := newBench("s", `null`)
	var bodies [][]byte
	b.Call = func(_ context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		bodies = append(bodies, r.Body)
		return &sandbox.Reply{}, nil
	}
	if _, err := m.Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
	if string(bodies[0]) != "null" || string(bodies[1]) != "1111" {
		t.Errorf("%q", bodies)
	}
}
