package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// rounds is a loop of n rounds, each of one unit of work; the local of the
// index counts them.
func rounds(n, local int) string {
	return wasmtest.Const(uint32(n)) + "\x21" + wasmtest.Uleb(local) +
		wasmtest.OpLoop + "\x20" + wasmtest.Uleb(local) + wasmtest.Const(1) + "\x6b\x22" + wasmtest.Uleb(local) + "\x0d\x00" + wasmtest.OpEnd
}

// metered is an entry whose work is told at each call.
type metered struct {
	*bench
	worked  atomic.Int64
	atCalls []int64
}

func newMetered(step, input string) *metered {
	m := &metered{bench: newBench(step, input)}
	m.Worked = &m.worked
	answer := m.Call
	m.Call = func(ctx context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		m.atCalls = append(m.atCalls, m.worked.Load())
		return answer(ctx, r)
	}
	return m
}

// counts enters the module and returns the work at each call and at the end.
func (m *metered) counts(ctx context.Context, module *sandbox.Module) ([]int64, error) {
	_, err := module.Enter(ctx, &m.Entry)
	return append(m.atCalls, m.worked.Load()), err
}

// What is counted, counted by hand: one for the entry of each function, one for
// each round of a loop, one and one for each 256 bytes for a bulk operation.
//
// What the host does for a guest is counted like a bulk operation, and one more
// for each piece of a stream.
//
// Seen red with what the host does not paid for, with the work told only at looks, without it after a trap, and
// without it after a trap of the start function.
func TestWorkIsCountedExactly(t *testing.T) {
	t.Parallel()
	const fill = "\xfc\x0b\x00"
	plain := func(code string) wasmtest.Program { return wasmtest.Guest(code) }
	with := func(export, code string, start string) wasmtest.Program {
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: export, Shape: wasmtest.ShapeNone, Code: code})
		p.Start = start
		return p
	}
	wasi := func(function string, shape wasmtest.Shape, arguments string) wasmtest.Program {
		p := plain(arguments + wasmtest.CallTo(wasmtest.FnFirst) + wasmtest.OpDrop + wasmtest.Done)
		p.Imports = append(p.Imports, wasmtest.Function{Module: "wasi_snapshot_preview1", Export: function, Shape: shape})
		return p
	}
	for name, row := range map[string]struct {
		program wasmtest.Program
		want    []int64
		trap    string
	}{
		"a step alone":                  {plain(wasmtest.Done), []int64{1}, ""},
		"loops around calls":            {plain(rounds(10, 1) + wasmtest.GoodCall + rounds(20, 1) + wasmtest.GoodCall + wasmtest.Done), []int64{11, 31, 31}, ""},
		"many slices":                   {plain(rounds(5_000_000, 1) + wasmtest.GoodCall + wasmtest.Done), []int64{5_000_001, 5_000_001}, ""},
		"a bulk operation":              {plain(wasmtest.Const(2000) + wasmtest.Const(0) + wasmtest.Const(1024) + fill + wasmtest.Done), []int64{6}, ""},
		"a put of 1,024 bytes":          {plain(wasmtest.HostPut(abi.PutInfo, 0, 1024) + wasmtest.Done), []int64{5}, ""},
		"random numbers":                {wasi("random_get", wasmtest.ShapeTake, wasmtest.Const(4096)+wasmtest.Const(2560)), []int64{12}, ""},
		"32 empty pieces of a write":    {wasi("fd_write", wasmtest.ShapePoll, wasmtest.Const(2)+wasmtest.Const(1024)+wasmtest.Const(32)+wasmtest.Const(0)), []int64{33}, ""},
		"initialising":                  {with("_initialize", rounds(7, 0), ""), []int64{9}, ""},
		"a start function":              {with("go", rounds(7, 0), "go"), []int64{9}, ""},
		"a trap":                        {plain(rounds(100, 1) + wasmtest.OpUnreachable), []int64{101}, sandbox.TrapUnreachable},
		"a trap in the start function":  {with("go", rounds(100, 0)+wasmtest.OpUnreachable, "go"), []int64{101}, sandbox.TrapUnreachable},
		"a trap of ours":                {plain(rounds(100, 1) + wasmtest.HostPut(9, 0, 0) + wasmtest.Done), []int64{101}, sandbox.TrapBadKind},
		"a trap before any instruction": {func() wasmtest.Program { p := plain(wasmtest.Done); p.Data = strings.Repeat("x", pageSize+1); return p }(), []int64{0}, sandbox.TrapOutOfBounds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, interpret := range []bool{false, true} {
				s := open(t, nil)
				if interpret {
					s.Interpret()
				}
				got, err := newMetered("s", `null`).counts(t.Context(), load(t, s, row.program.Bytes()))
				if trap := new(sandbox.Trap); row.trap != "" && (!errors.As(err, &trap) || trap.Code != row.trap) || row.trap == "" && err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, row.want) {
					t.Errorf("interpreted %v: counted %d, want %d", interpret, got, row.want)
				}
			}
		})
	}
}

// A limit is hit at the same instruction everywhere: the guest stores how far
// it came, the memory is looked at.
//
// Seen red with slices that do not end at the limit.
func TestLimitOfWorkIsHitAtOneInstruction(t *testing.T) {
	t.Parallel()
	// The local goes up and is stored in each round.
	code := wasmtest.OpLoop + wasmtest.Const(0) + "\x20\x01" + wasmtest.Const(1) + "\x6a\x22\x01" + "\x36\x00\x00" + wasmtest.OpAgain + wasmtest.OpEnd + wasmtest.Const(0)
	wasm := wasmtest.Guest(code).Bytes()
	for _, limit := range []int64{1, 2, 3, 1000, 8192, 8193, 8194, 123_456, 3_000_000} {
		for _, interpret := range []bool{false, true} {
			s := open(t, nil)
			if interpret {
				s.Interpret()
			}
			var reached uint32
			s.OnLeaving(func(memory []byte) { reached = uint32(memory[0]) | uint32(memory[1])<<8 | uint32(memory[2])<<16 })
			m := newMetered("s", `null`)
			m.Work = limit
			got, err := m.counts(t.Context(), load(t, s, wasm))
			if trap := new(sandbox.Trap); !errors.As(err, &trap) || trap.Code != sandbox.TrapWorkLimit || !strings.Contains(trap.Message, fmt.Sprintf(" %d units", limit)) {
				t.Fatalf("limit %d: %v", limit, err)
			}
			want := uint32(limit - 1)
			if limit == 1 {
				want = uint32(wasmtest.FrameText[0]) | uint32(wasmtest.FrameText[1])<<8 | uint32(wasmtest.FrameText[2])<<16 // nothing was stored
			}
			if !slices.Equal(got, []int64{limit}) || reached != want {
				t.Errorf("limit %d, interpreted %v: counted %d, reached round %d", limit, interpret, got, reached)
			}
		}
	}
	m := newMetered("s", `null`)
	m.Work = -1
	if _, err := m.counts(t.Context(), load(t, open(t, nil), wasm)); err == nil {
		t.Error("a limit below zero is accepted")
	}
}

// A limit that is just enough is no limit, also in a Go guest.
//
// Seen red with a guest that is ended one unit early.
func TestLimitThatIsJustEnough(t *testing.T) {
	t.Parallel()
	module := goGuest(t)
	whole, err := newMetered("entropy", `{}`).counts(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	last := whole[len(whole)-1]
	for _, limit := range []int64{last, math.MaxInt64} {
		m := newMetered("entropy", `{}`)
		m.Work = limit
		if got, err := m.counts(t.Context(), module); err != nil || !slices.Equal(got, whole) {
			t.Errorf("limit %d: %v, counted %d, want %d", limit, err, got, whole)
		}
	}
	m := newMetered("entropy", `{}`)
	m.Work = last - 1
	_, err = m.counts(t.Context(), module)
	if trap := new(sandbox.Trap); !errors.As(err, &trap) || trap.Code != sandbox.TrapWorkLimit {
		t.Errorf("one less: %v", err)
	}
}

// Counts are the same in twenty instances at once, in another process, and in
// the interpreter.
//
// Seen red with a unit added at each look.
func TestWorkIsEqualEverywhere(t *testing.T) {
	t.Parallel()
	wasm, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	module := goGuest(t)
	want, err := newMetered("entropy", `{}`).counts(t.Context(), module)
	if err != nil || len(want) != 6 || want[0] < 1000 {
		t.Fatal(want, err)
	}
	check := func(t *testing.T, where string, got []int64, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, counted %d, want %d", where, err, got, want)
		}
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			got, err := newMetered("entropy", `{}`).counts(t.Context(), module)
			check(t, fmt.Sprint("instance ", i), got, err)
		})
	}
	all.Wait()
	t.Run("another process", func(t *testing.T) {
		t.Parallel()
		check(t, "child", inChild(t, cacheDir).Work, nil)
	})
	t.Run("interpreted", func(t *testing.T) {
		t.Parallel()
		s := open(t, nil)
		s.Interpret()
		got, err := newMetered("entropy", `{}`).counts(t.Context(), load(t, s, wasm))
		check(t, "interpreter", got, err)
	})
}

// The meter is told while a guest computes, so that what it has computed can be
// recorded although it neither calls nor ends.
//
// Seen red with the work told only at calls.
func TestMeterRunsWhileTheGuestComputes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	m := newMetered("s", `null`)
	m.Log = func(slog.Level, string) {
		go func() {
			for m.worked.Load() < 10_000_000 {
				time.Sleep(time.Millisecond)
			}
			cancel(errStopped)
		}()
	}
	if _, err := m.counts(ctx, load(t, open(t, nil), wasmtest.Guest(goodLog+wasmtest.OpLoop+wasmtest.OpAgain+wasmtest.OpEnd+wasmtest.Const(0)).Bytes())); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}

// Everything that is not a guest goes on while guests compute on all
// processors, without ever calling: a ticker ticks, and the memory is collected.
//
// Seen red without the counter (everything stood still), and with guests that
// keep their places while others wait.
func TestComputingGuestsDoNotHoldUpTheProgram(t *testing.T) {
	t.Parallel()
	m := load(t, open(t, nil), wasmtest.Guest(goodLog+wasmtest.OpLoop+wasmtest.OpAgain+wasmtest.OpEnd+wasmtest.Const(0)).Bytes())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var all sync.WaitGroup
	guests := 2*goruntime.GOMAXPROCS(0) + 1
	computing := make(chan struct{}, guests)
	for range guests {
		all.Go(func() {
			b := newBench("s", `null`)
			b.Log = func(slog.Level, string) { computing <- struct{}{} }
			if _, err := m.Enter(ctx, &b.Entry); !errors.Is(err, errStopped) {
				t.Error(err)
			}
		})
	}
	<-computing
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 100 {
		<-ticker.C
	}
	// All get their turn, not only as many as there are processors.
	for range guests - 1 {
		<-computing
	}
	cancel(errStopped)
	all.Wait()
}

// pawl_describe is counted as a step is, and ends with its context.
//
// Seen red with the whole counter left out.
func TestDescribingIsBounded(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := wasmtest.Guest(wasmtest.Done)
	p.Functions = append(p.Functions, wasmtest.Function{Export: abi.ExportDescribe, Shape: wasmtest.ShapeStep, Code: rounds(1000, 1) + wasmtest.OpLoop + wasmtest.OpAgain + wasmtest.OpEnd + wasmtest.Const(0)})
	m := load(t, s, p.Bytes())
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errStopped)
	defer cancel()
	if _, err := m.DescribeText(ctx); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}
