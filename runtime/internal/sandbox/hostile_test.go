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
		{"take", hostTake, "", "", ""},
		{"put a log", putAs(abi.PutInfo), "", "", ""},
		{"put an output", putAs(abi.PutOutput), sandbox.TrapBadOutput, sandbox.TrapBadOutput, sandbox.TrapBadOutput},
		{"put a failure", putAs(abi.PutFailure), sandbox.TrapBadFailure, sandbox.TrapBadFailure, sandbox.TrapBadFailure},
		{"tool name", func(pointer, length uint32) string {
			return hostCall(pointer, length, frameAt, uint32(len(frameText)))
		}, sandbox.TrapBadToolName, sandbox.TrapBadToolName, sandbox.TrapBadToolName},
		{"request", func(pointer, length uint32) string {
			return hostCall(toolAt, uint32(len(toolText)), pointer, length)
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
		for args, dirt := range map[string]string{"clean": "", "with garbage in the upper half": callSoil(fnFirst + 1)} {
			for _, row := range rows {
				t.Run(fmt.Sprintf("%s/%s/%s", use.name, row.name, args), func(t *testing.T) {
					t.Parallel()
					after := done
					if use.name == "put an output" {
						after = constant(0)
					}
					p := guestProgram(dirt + use.code(row.pointer, row.length) + after)
					p.functions = append(p.functions, soil(fnFirst+1))
					if use.name == "request" && row.name == "all of the memory" {
						p.data = frameText + p.data[len(frameText):]
					}
					if got := trapCode(t, s, p.bytes()); got != row.want {
						t.Errorf("ended with %q, want %q", got, row.want)
					}
				})
			}
		}
	}
}

func putAs(kind abi.PutKind) func(pointer, length uint32) string {
	return func(pointer, length uint32) string {
		return hostPut(kind, pointer, length)
	}
}

func TestMisdeeds(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	frame := func(frame string) string {
		return hostCall(toolAt, 4, 500, uint32(len(frame)))
	}
	request := func(bytes string) program {
		p := guestProgram(frame(bytes) + done)
		p.data = p.data[:500] + bytes
		return p
	}
	failure := func(text string) program {
		p := guestProgram(hostPut(abi.PutFailure, 500, uint32(len(text))) + constant(1))
		p.data = p.data[:500] + text
		return p
	}
	large := func(code string) program {
		p := guestProgram(code + done)
		p.memory = "\x01\x00" + uleb(200)
		return p
	}
	before := func(code string) program {
		p := guestProgram(done)
		p.functions = append(p.functions, function{export: "_initialize", shape: shapeNone, code: code})
		return p
	}
	starting := func(code string) program {
		p := guestProgram(done)
		p.functions = append(p.functions, function{export: "go", shape: shapeNone, code: code})
		p.start = "go"
		return p
	}
	wasi := func(name string, sig shape, code string) program {
		p := guestProgram(code)
		p.imports = append(p.imports, function{module: "wasi_snapshot_preview1", export: name, shape: sig})
		return p
	}
	for name, row := range map[string]struct {
		program program
		want    string
	}{
		"a good call, output and end":           {guestProgram(goodCall + done), ""},
		"a good failure and end":                {guestProgram(goodFailure + constant(1)), ""},
		"a kind of put that does not exist":     {guestProgram(hostPut(6, 0, 0) + done), sandbox.TrapBadKind},
		"a kind of put of all ones":             {guestProgram(hostPut(0xFFFFFFFF, 0, 0) + done), sandbox.TrapBadKind},
		"two outputs":                           {guestProgram(goodOutput + done), sandbox.TrapSecondOutput},
		"two failures":                          {guestProgram(goodFailure + goodFailure + constant(1)), sandbox.TrapSecondFailure},
		"an output, then a failure":             {guestProgram(goodOutput + goodFailure + constant(1)), sandbox.TrapOutputAndFailure},
		"a failure, then an output":             {guestProgram(goodFailure + done), sandbox.TrapOutputAndFailure},
		"done without an output":                {guestProgram(constant(0)), sandbox.TrapNoOutput},
		"failed without a failure":              {guestProgram(constant(1)), sandbox.TrapNoFailure},
		"done after a failure":                  {guestProgram(goodFailure + constant(0)), sandbox.TrapNoOutput},
		"failed after an output":                {guestProgram(goodOutput + constant(1)), sandbox.TrapNoFailure},
		"a return of 2":                         {guestProgram(goodOutput + constant(2)), sandbox.TrapBadReturn},
		"a tool name of 65 bytes":               {guestProgram(hostCall(nameAt, 65, frameAt, uint32(len(frameText))) + done), sandbox.TrapBadToolName},
		"a tool name of 64 bytes":               {guestProgram(hostCall(nameAt, 64, frameAt, uint32(len(frameText))) + done), ""},
		"a head longer than the frame":          {request("\xff\xff\xff\x7f{}"), sandbox.TrapBadFrame},
		"a head length of all ones":             {request("\xff\xff\xff\xff"), sandbox.TrapBadFrame},
		"a head that is not JSON":               {request("\x02\x00\x00\x00{]"), sandbox.TrapBadFrame},
		"a body of an unknown type":             {request("\x0e\x00\x00\x00" + `{"type":"xml"}`), sandbox.TrapBadFrame},
		"a head without a type":                 {request("\x02\x00\x00\x00{}"), sandbox.TrapBadFrame},
		"a failure that is not JSON":            {failure("no"), sandbox.TrapBadFailure},
		"a failure without a code":              {failure(`{"message":"m"}`), sandbox.TrapBadFailure},
		"a failure's code with a space":         {failure(`{"code":"a b"}`), sandbox.TrapBadFailure},
		"a failure's unknown retry":             {failure(`{"code":"a","retry":"later"}`), sandbox.TrapBadFailure},
		"a failure's negative wait":             {failure(`{"code":"a","after_ms":-1}`), sandbox.TrapBadFailure},
		"a failure that waits":                  {failure(`{"code":"a","retry":"fresh","after_ms":5}`), ""},
		"a request over the limit":              {large(hostCall(toolAt, 4, 0, 9<<20)), sandbox.TrapTooLarge},
		"a body over the limit":                 {large(hostCall(toolAt, 4, frameAt, 4+15+sandbox.MaxPayload+1)), sandbox.TrapTooLarge},
		"a body at the limit":                   {large(hostCall(toolAt, 4, frameAt, 4+15+sandbox.MaxPayload)), ""},
		"an output over the limit":              {large(hostPut(abi.PutOutput, 0, sandbox.MaxPayload+1)), sandbox.TrapTooLarge},
		"a failure over the limit":              {large(hostPut(abi.PutFailure, 0, sandbox.MaxFailure+1)), sandbox.TrapTooLarge},
		"a log over any limit":                  {large(hostPut(abi.PutInfo, 0, 12<<20)), ""},
		"call in _initialize":                   {before(goodCall), sandbox.TrapCallInitialize},
		"call in the start function":            {starting(goodCall), sandbox.TrapCallInitialize},
		"an output in _initialize":              {before(goodOutput), sandbox.TrapPutInitialize},
		"a failure in the start function":       {starting(goodFailure), sandbox.TrapPutInitialize},
		"a log in _initialize":                  {before(hostPut(abi.PutInfo, 0, 4)), ""},
		"a bad pointer in _initialize":          {before(hostTake(0xFFFFFFFF, 1)), sandbox.TrapBadPointer},
		"unreachable in the start function":     {starting(opUnreachable), sandbox.TrapUnreachable},
		"unreachable":                           {guestProgram(opUnreachable), sandbox.TrapUnreachable},
		"a division by zero":                    {guestProgram(constant(1) + constant(0) + opDivide), sandbox.TrapDivideByZero},
		"a load outside":                        {guestProgram(loadFrom(pageSize)), sandbox.TrapOutOfBounds},
		"a recursion without end":               {guestProgram(constant(0) + callTo(fnFirst)), sandbox.TrapStackOverflow},
		"data outside of the memory":            {func() program { p := guestProgram(done); p.data = strings.Repeat("x", pageSize+1); return p }(), sandbox.TrapOutOfBounds},
		"WASI: leaving with a status":           {wasi("proc_exit", shapeExit, constant(3)+callTo(3)+opUnreachable), sandbox.TrapExit},
		"WASI: leaving as a Go panic, unspoken": {wasi("proc_exit", shapeExit, constant(2)+callTo(3)+opUnreachable), sandbox.TrapExit},
		"WASI: leaving as if the time was up":   {wasi("proc_exit", shapeExit, constant(0xFFFFFFFF)+callTo(3)+opUnreachable), sandbox.TrapExit},
		"WASI: a size of subscriptions turns round": {
			wasi("poll_oneoff", shapePoll, constant(1000)+constant(2000)+constant(0x10000000)+constant(3000)+callTo(3)+opDrop+opUnreachable), sandbox.TrapOther,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := trapCode(t, s, row.program.bytes()); got != row.want {
				t.Errorf("ended with %q, want %q", got, row.want)
			}
		})
	}
}

// Seen red with the input already in the slot.
func TestSlotIsEmptyWhileInitialising(t *testing.T) {
	t.Parallel()
	p := guestProgram(done)
	ask := constant(0) + constant(0) + callTo(fnTake) + "\x04\x40" + opUnreachable + opEnd // if not 0: unreachable
	p.functions = append(p.functions, function{export: "_initialize", shape: shapeNone, code: ask})
	if got := trapCode(t, open(t, nil), p.bytes()); got != "" {
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
		code = hostTake(0, pageSize)
		for i := range n {
			code += loadFrom(argumentsAt + 4*i)
		}
		return code
	}
	var modules []*sandbox.Module
	for _, code := range []string{
		arguments(4) + callTo(fnCall) + opDrop, arguments(2) + callTo(fnTake) + opDrop, arguments(3) + callTo(fnPut),
	} {
		modules = append(modules, load(f, s, guestProgram(code+constant(0)).bytes()))
	}
	for _, n := range []uint32{0, 1, pageSize - 1, pageSize, pageSize + 1, 1 << 31, 1<<32 - 1} {
		f.Add(n, n, n, n, "")
		f.Add(uint32(toolAt), uint32(4), n, n, frameText)
		f.Add(uint32(0), n, uint32(argumentsAt+16), uint32(5), outputText)
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
	fill := constant(0) + constant('\n') + constant(pages<<16) + "\xfc\x0b\x00" // memory.fill
	write := constant(2) + constant(outputAt) + constant(1) + constant(outputAt+8) + callTo(fnFirst) + opDrop
	span := constant(outputAt) + constant(1<<12) + "\x36\x00\x00" + constant(outputAt+4) + constant(pages<<16-1<<12) + "\x36\x00\x00"
	for name, code := range map[string]string{
		"put":    fill + strings.Repeat(hostPut(abi.PutInfo, 0, pages<<16), 2),
		"stderr": fill + span + write + write,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := guestProgram(code + constant(outputAt) + constant('1') + "\x36\x00\x00" + hostPut(abi.PutOutput, outputAt, 1) + constant(0))
			p.imports = append(p.imports, function{module: "wasi_snapshot_preview1", export: "fd_write", shape: shapePoll})
			p.memory = "\x01\x00" + uleb(pages)
			b := newBench("s", `null`)
			if _, err := load(t, open(t, nil), p.bytes()).Enter(t.Context(), &b.Entry); err != nil {
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
	code := constant(2) + constant(outputAt) + constant(3) + constant(outputAt+40) + callTo(fnFirst) + opDrop + done
	p := guestProgram(code)
	p.imports = append(p.imports, function{module: "wasi_snapshot_preview1", export: "fd_write", shape: shapePoll})
	const piece = "\x00\x00\x00\x00\x02\x00\x00\x00" // two bytes at 0
	p.data = place(map[int]string{0: "x\n", outputAt: piece + piece + piece})
	m := load(t, open(t, nil), p.bytes())
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench("s", `null`)
	lines := 0
	b.Log = func(slog.Level, string) { lines++; cancel(errStopped) }
	if _, err := m.Enter(ctx, &b.Entry); !errors.Is(err, errStopped) || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
