package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// trapCode enters the program and returns the code of its trap; "" if it left
// by itself.
func trapCode(t *testing.T, s *sandbox.Sandbox, wasm []byte) string {
	t.Helper()
	_, err := load(t, s, wasm).Enter(t.Context(), &newBench("s", `null`).Entry)
	var trap *sandbox.Trap
	switch {
	case errors.As(err, &trap):
		if trap.Message == "" || strings.Contains(trap.Message, "wasm stack trace") {
			t.Errorf("message %q", trap.Message)
		}
		return trap.Code
	case err != nil:
		t.Errorf("%T: %v", err, err)
	}
	return ""
}

const pageSize = 65536

// Seen red with the range not checked, with the sum of pointer and length taken
// in 32 bits, and with the upper half of arguments let in, for each function.
func TestRangesAtEveryEdge(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	const bad = sandbox.TrapBadPointer
	// What each use says of a range that lies inside, when it is of these bytes.
	uses := []struct {
		name               string
		code               func(pointer, length uint32) string
		none, byte1, whole string
	}{
		{"take", wasmtest.HostTake, "", "", ""},
		{"put a log", putAs(abi.PutInfo), "", "", ""},
		{"put an output", putAs(abi.PutOutput), sandbox.TrapBadOutput, sandbox.TrapBadOutput, sandbox.TrapBadOutput},
		{"put a failure", putAs(abi.PutFailure), sandbox.TrapBadFailure, sandbox.TrapBadFailure, sandbox.TrapBadFailure},
		{"tool name", func(pointer, length uint32) string {
			return wasmtest.HostCall(pointer, length, wasmtest.FrameAt, uint32(len(wasmtest.FrameText)))
		}, sandbox.TrapBadToolName, sandbox.TrapBadToolName, sandbox.TrapBadToolName},
		{"request", func(pointer, length uint32) string {
			return wasmtest.HostCall(wasmtest.ToolAt, uint32(len(wasmtest.ToolText)), pointer, length)
		}, sandbox.TrapBadFrame, sandbox.TrapBadFrame, ""},
	}
	for _, use := range uses {
		rows := []struct {
			name            string
			pointer, length uint32
			want            string
		}{
			{"nothing at the end", pageSize, 0, use.none},
			{"nothing at the beginning", 0, 0, use.none},
			{"the last byte", pageSize - 1, 1, use.byte1},
			{"all of the memory", 0, pageSize, use.whole},
			{"one byte at the end", pageSize, 1, bad},
			{"nothing after the end", pageSize + 1, 0, bad},
			{"the last byte and one more", pageSize - 1, 2, bad},
			{"all of the memory and one byte more", 0, pageSize + 1, bad},
			{"all ones", 0xFFFFFFFF, 0xFFFFFFFF, bad},
			{"a pointer of all ones", 0xFFFFFFFF, 0, bad},
			{"a length of all ones", 0, 0xFFFFFFFF, bad},
			{"a sum that turns around to nothing", 0xFFFFFFFF, 1, bad},
			{"a sum that turns around to the inside", 0xFFFFFFF0, 0x20, bad},
			{"a length that turns around to the pointer", 1, 0xFFFFFFFF, bad},
			{"the sign bit", 0x80000000, 1, bad},
		}
		for args, dirt := range map[string]string{"clean": "", "with garbage in the upper half": wasmtest.CallSoil(wasmtest.FnFirst + 1)} {
			for _, row := range rows {
				t.Run(fmt.Sprintf("%s/%s/%s", use.name, row.name, args), func(t *testing.T) {
					t.Parallel()
					after := wasmtest.Done
					if use.name == "put an output" {
						after = wasmtest.Const(0)
					}
					p := wasmtest.Guest(dirt + use.code(row.pointer, row.length) + after)
					p.Functions = append(p.Functions, wasmtest.Soil(wasmtest.FnFirst+1))
					if use.name == "request" && row.name == "all of the memory" {
						p.Data = wasmtest.FrameText + p.Data[len(wasmtest.FrameText):]
					}
					if got := trapCode(t, s, p.Bytes()); got != row.want {
						t.Errorf("ended with %q, want %q", got, row.want)
					}
				})
			}
		}
	}
}

func putAs(kind abi.PutKind) func(pointer, length uint32) string {
	return func(pointer, length uint32) string {
		return wasmtest.HostPut(kind, pointer, length)
	}
}

func TestMisdeeds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	frame := func(frame string) string {
		return wasmtest.HostCall(wasmtest.ToolAt, 4, 500, uint32(len(frame)))
	}
	request := func(bytes string) wasmtest.Program {
		p := wasmtest.Guest(frame(bytes) + wasmtest.Done)
		p.Data = p.Data[:500] + bytes
		return p
	}
	failure := func(text string) wasmtest.Program {
		p := wasmtest.Guest(wasmtest.HostPut(abi.PutFailure, 500, uint32(len(text))) + wasmtest.Const(1))
		p.Data = p.Data[:500] + text
		return p
	}
	large := func(code string) wasmtest.Program {
		p := wasmtest.Guest(code + wasmtest.Done)
		p.Memory = "\x01\x00" + wasmtest.Uleb(200)
		return p
	}
	before := func(code string) wasmtest.Program {
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: "_initialize", Shape: wasmtest.ShapeNone, Code: code})
		return p
	}
	starting := func(code string) wasmtest.Program {
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: "go", Shape: wasmtest.ShapeNone, Code: code})
		p.Start = "go"
		return p
	}
	wasi := func(name string, sig wasmtest.Shape, code string) wasmtest.Program {
		p := wasmtest.Guest(code)
		p.Imports = append(p.Imports, wasmtest.Function{Module: "wasi_snapshot_preview1", Export: name, Shape: sig})
		return p
	}
	for name, row := range map[string]struct {
		program wasmtest.Program
		want    string
	}{
		"a good call, output and end":       {wasmtest.Guest(wasmtest.GoodCall + wasmtest.Done), ""},
		"a good failure and end":            {wasmtest.Guest(wasmtest.GoodFailure + wasmtest.Const(1)), ""},
		"a kind of put that does not exist": {wasmtest.Guest(wasmtest.HostPut(6, 0, 0) + wasmtest.Done), sandbox.TrapBadKind},
		"a kind of put of all ones":         {wasmtest.Guest(wasmtest.HostPut(0xFFFFFFFF, 0, 0) + wasmtest.Done), sandbox.TrapBadKind},
		"two outputs":                       {wasmtest.Guest(wasmtest.GoodOutput + wasmtest.Done), sandbox.TrapSecondOutput},
		"two failures":                      {wasmtest.Guest(wasmtest.GoodFailure + wasmtest.GoodFailure + wasmtest.Const(1)), sandbox.TrapSecondFailure},
		"an output, then a failure":         {wasmtest.Guest(wasmtest.GoodOutput + wasmtest.GoodFailure + wasmtest.Const(1)), sandbox.TrapOutputAndFailure},
		"a failure, then an output":         {wasmtest.Guest(wasmtest.GoodFailure + wasmtest.Done), sandbox.TrapOutputAndFailure},
		"done without an output":            {wasmtest.Guest(wasmtest.Const(0)), sandbox.TrapNoOutput},
		"failed without a failure":          {wasmtest.Guest(wasmtest.Const(1)), sandbox.TrapNoFailure},
		"done after a failure":              {wasmtest.Guest(wasmtest.GoodFailure + wasmtest.Const(0)), sandbox.TrapNoOutput},
		"failed after an output":            {wasmtest.Guest(wasmtest.GoodOutput + wasmtest.Const(1)), sandbox.TrapNoFailure},
		"a return of 2":                     {wasmtest.Guest(wasmtest.GoodOutput + wasmtest.Const(2)), sandbox.TrapBadReturn},
		"a tool name of 65 bytes":           {wasmtest.Guest(wasmtest.HostCall(wasmtest.NameAt, 65, wasmtest.FrameAt, uint32(len(wasmtest.FrameText))) + wasmtest.Done), sandbox.TrapBadToolName},
		"a tool name of 64 bytes":           {wasmtest.Guest(wasmtest.HostCall(wasmtest.NameAt, 64, wasmtest.FrameAt, uint32(len(wasmtest.FrameText))) + wasmtest.Done), ""},
		"a head longer than the frame":      {request("\xff\xff\xff\x7f{}"), sandbox.TrapBadFrame},
		"a head length of all ones":         {request("\xff\xff\xff\xff"), sandbox.TrapBadFrame},
		"a head that is not JSON":           {request("\x02\x00\x00\x00{]"), sandbox.TrapBadFrame},
		"a body of an unknown type":         {request("\x0e\x00\x00\x00" + `{"type":"xml"}`), sandbox.TrapBadFrame},
		"a head without a type":             {request("\x02\x00\x00\x00{}"), sandbox.TrapBadFrame},
		"a failure that is not JSON":        {failure("no"), sandbox.TrapBadFailure},
		"a failure without a code":          {failure(`{"message":"m"}`), sandbox.TrapBadFailure},
		"a failure's code with a space":     {failure(`{"code":"a b"}`), sandbox.TrapBadFailure},
		"a failure's unknown retry":         {failure(`{"code":"a","retry":"later"}`), sandbox.TrapBadFailure},
		"a failure's negative wait":         {failure(`{"code":"a","after_ms":-1}`), sandbox.TrapBadFailure},
		"a failure that waits":              {failure(`{"code":"a","retry":"fresh","after_ms":5}`), ""},
		"a request over the limit":          {large(wasmtest.HostCall(wasmtest.ToolAt, 4, 0, 9<<20)), sandbox.TrapTooLarge},
		"a body over the limit":             {large(wasmtest.HostCall(wasmtest.ToolAt, 4, wasmtest.FrameAt, 4+15+sandbox.MaxPayload+1)), sandbox.TrapTooLarge},
		"a body at the limit":               {large(wasmtest.HostCall(wasmtest.ToolAt, 4, wasmtest.FrameAt, 4+15+sandbox.MaxPayload)), ""},
		"an output over the limit":          {large(wasmtest.HostPut(abi.PutOutput, 0, sandbox.MaxPayload+1)), sandbox.TrapTooLarge},
		"a failure over the limit":          {large(wasmtest.HostPut(abi.PutFailure, 0, sandbox.MaxFailure+1)), sandbox.TrapTooLarge},
		"a log over any limit":              {large(wasmtest.HostPut(abi.PutInfo, 0, 12<<20)), ""},
		"call in _initialize":               {before(wasmtest.GoodCall), sandbox.TrapCallInitialize},
		"call in the start function":        {starting(wasmtest.GoodCall), sandbox.TrapCallInitialize},
		"an output in _initialize":          {before(wasmtest.GoodOutput), sandbox.TrapPutInitialize},
		"a failure in the start function":   {starting(wasmtest.GoodFailure), sandbox.TrapPutInitialize},
		"a log in _initialize":              {before(wasmtest.HostPut(abi.PutInfo, 0, 4)), ""},
		"a bad pointer in _initialize":      {before(wasmtest.HostTake(0xFFFFFFFF, 1)), sandbox.TrapBadPointer},
		"unreachable in the start function": {starting(wasmtest.OpUnreachable), sandbox.TrapUnreachable},
		"unreachable":                       {wasmtest.Guest(wasmtest.OpUnreachable), sandbox.TrapUnreachable},
		"a division by zero":                {wasmtest.Guest(wasmtest.Const(1) + wasmtest.Const(0) + wasmtest.OpDivide), sandbox.TrapDivideByZero},
		"a load outside":                    {wasmtest.Guest(wasmtest.LoadFrom(pageSize)), sandbox.TrapOutOfBounds},
		"a recursion without end":           {wasmtest.Guest(wasmtest.Const(0) + wasmtest.CallTo(wasmtest.FnFirst)), sandbox.TrapStackOverflow},
		"data outside of the memory": {func() wasmtest.Program {
			p := wasmtest.Guest(wasmtest.Done)
			p.Data = strings.Repeat("x", pageSize+1)
			return p
		}(), sandbox.TrapOutOfBounds},
		"WASI: leaving with a status":           {wasi("proc_exit", wasmtest.ShapeExit, wasmtest.Const(3)+wasmtest.CallTo(3)+wasmtest.OpUnreachable), sandbox.TrapExit},
		"WASI: leaving as a Go panic, unspoken": {wasi("proc_exit", wasmtest.ShapeExit, wasmtest.Const(2)+wasmtest.CallTo(3)+wasmtest.OpUnreachable), sandbox.TrapExit},
		"WASI: leaving as if the time was up":   {wasi("proc_exit", wasmtest.ShapeExit, wasmtest.Const(0xFFFFFFFF)+wasmtest.CallTo(3)+wasmtest.OpUnreachable), sandbox.TrapExit},
		"WASI: a size of subscriptions turns round": {
			wasi("poll_oneoff", wasmtest.ShapePoll, wasmtest.Const(1000)+wasmtest.Const(2000)+wasmtest.Const(0x10000000)+wasmtest.Const(3000)+wasmtest.CallTo(3)+wasmtest.OpDrop+wasmtest.OpUnreachable), sandbox.TrapOther,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := trapCode(t, s, row.program.Bytes()); got != row.want {
				t.Errorf("ended with %q, want %q", got, row.want)
			}
		})
	}
}

// Seen red with the input already in the slot.
func TestSlotIsEmptyWhileInitialising(t *testing.T) {
	t.Parallel()
	p := wasmtest.Guest(wasmtest.Done)
	ask := wasmtest.Const(0) + wasmtest.Const(0) + wasmtest.CallTo(wasmtest.FnTake) + "\x04\x40" + wasmtest.OpUnreachable + wasmtest.OpEnd // if not 0: unreachable
	p.Functions = append(p.Functions, wasmtest.Function{Export: "_initialize", Shape: wasmtest.ShapeNone, Code: ask})
	if got := trapCode(t, open(t, nil), p.Bytes()); got != "" {
		t.Errorf("ended with %q", got)
	}
}

// argumentsAt is where the body of the input lies after take(0, ...).
var argumentsAt = 4 + len(`{"step":"s"}`)

func FuzzHostFunctions(f *testing.F) {
	s, err := sandbox.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(f.Context()) })
	arguments := func(n int) (code string) {
		code = wasmtest.HostTake(0, pageSize)
		for i := range n {
			code += wasmtest.LoadFrom(argumentsAt + 4*i)
		}
		return code
	}
	var modules []*sandbox.Module
	for _, code := range []string{
		arguments(4) + wasmtest.CallTo(wasmtest.FnCall) + wasmtest.OpDrop, arguments(2) + wasmtest.CallTo(wasmtest.FnTake) + wasmtest.OpDrop, arguments(3) + wasmtest.CallTo(wasmtest.FnPut),
	} {
		modules = append(modules, load(f, s, wasmtest.Guest(code+wasmtest.Const(0)).Bytes()))
	}
	for _, n := range []uint32{0, 1, pageSize - 1, pageSize, pageSize + 1, 1 << 31, 1<<32 - 1} {
		f.Add(n, n, n, n, "")
		f.Add(uint32(wasmtest.ToolAt), uint32(4), n, n, wasmtest.FrameText)
		f.Add(uint32(0), n, uint32(argumentsAt+16), uint32(5), wasmtest.OutputText)
	}
	f.Fuzz(func(t *testing.T, a, b, c, d uint32, rest string) {
		if len(rest) > 1000 {
			return
		}
		input := make([]byte, 0, 16+len(rest))
		for _, n := range []uint32{a, b, c, d} {
			input = append(input, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
		}
		for _, m := range modules {
			_, err := m.Enter(t.Context(), &newBench("s", string(input)+rest).Entry)
			if trap := new(sandbox.Trap); err != nil && !errors.As(err, &trap) {
				t.Fatalf("%T: %v", err, err)
			}
		}
	})
}

// Seen red without the cut: all the memory was looked at.
func TestHugeLogIsCut(t *testing.T) {
	t.Parallel()
	const pages = 64
	fill := wasmtest.Const(0) + wasmtest.Const('\n') + wasmtest.Const(pages<<16) + "\xfc\x0b\x00" // memory.fill
	write := wasmtest.Const(2) + wasmtest.Const(wasmtest.OutputAt) + wasmtest.Const(1) + wasmtest.Const(wasmtest.OutputAt+8) + wasmtest.CallTo(wasmtest.FnFirst) + wasmtest.OpDrop
	span := wasmtest.Const(wasmtest.OutputAt) + wasmtest.Const(1<<12) + "\x36\x00\x00" + wasmtest.Const(wasmtest.OutputAt+4) + wasmtest.Const(pages<<16-1<<12) + "\x36\x00\x00"
	for name, code := range map[string]string{
		"put":    fill + strings.Repeat(wasmtest.HostPut(abi.PutInfo, 0, pages<<16), 2),
		"stderr": fill + span + write + write,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wasmtest.Guest(code + wasmtest.Const(wasmtest.OutputAt) + wasmtest.Const('1') + "\x36\x00\x00" + wasmtest.HostPut(abi.PutOutput, wasmtest.OutputAt, 1) + wasmtest.Const(0))
			p.Imports = append(p.Imports, wasmtest.Function{Module: "wasi_snapshot_preview1", Export: "fd_write", Shape: wasmtest.ShapePoll})
			p.Memory = "\x01\x00" + wasmtest.Uleb(pages)
			b := newBench("s", `null`)
			if _, err := load(t, open(t, nil), p.Bytes()).Enter(t.Context(), &b.Entry); err != nil {
				t.Fatal(err)
			}
			if most := 2 * pages << 16; len(b.lines) != 0 || b.lost[1] > most || b.lost[1] < most-sandbox.MaxLogBytes {
				t.Errorf("%.200q, %d left out of %d empty lines", b.lines, b.lost, most)
			}
		})
	}
}

// Seen red without the look at the context.
func TestWritingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	// Three pieces of two bytes each in one write.
	code := wasmtest.Const(2) + wasmtest.Const(wasmtest.OutputAt) + wasmtest.Const(3) + wasmtest.Const(wasmtest.OutputAt+40) + wasmtest.CallTo(wasmtest.FnFirst) + wasmtest.OpDrop + wasmtest.Done
	p := wasmtest.Guest(code)
	p.Imports = append(p.Imports, wasmtest.Function{Module: "wasi_snapshot_preview1", Export: "fd_write", Shape: wasmtest.ShapePoll})
	const piece = "\x00\x00\x00\x00\x02\x00\x00\x00" // two bytes at 0
	p.Data = wasmtest.Place(map[int]string{0: "x\n", wasmtest.OutputAt: piece + piece + piece})
	m := load(t, open(t, nil), p.Bytes())
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench("s", `null`)
	lines := 0
	b.Log = func(slog.Level, string) { lines++; cancel(errStopped) }
	if _, err := m.Enter(ctx, &b.Entry); !errors.Is(err, errStopped) || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
