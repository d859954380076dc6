package guests_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/host/abi"
	pawl "github.com/pawl-dev/pawl/runtime"
	wt "github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// misdeed is a guest that means harm, and what shall become of its run.
type misdeed struct {
	name   string
	limits string // of its step
	wasm   []byte
	code   string // of the failure; empty: the run completes
	// did says why the document does not show that the harm was tried; empty if
	// it does. Nil where the code alone shows it.
	did func(c *pawl.Checkpoint, logs []pawl.LogLine) string
}

// Instructions that the assembler has no names for.
const (
	memorySize = "\x3f\x00"
	memoryGrow = "\x40\x00"
	memoryFill = "\xfc\x0b\x00"
	tableGrow  = "\xd0\x70" // ref.null, for the value
	equal      = "\x46"
	notEqual   = "\x47"
	multiply   = "\x6c"
	again      = "\x0d\x00" // br_if 0
	ifThen     = "\x04\x40"
	otherwise  = "\x05"
)

// proven traps as unreachable if the condition on the stack holds, and divides
// by zero if it does not: the code of the run tells which.
const proven = ifThen + wt.OpUnreachable + otherwise + "\x41\x01\x41\x00" + wt.OpDivide + wt.OpDrop + wt.OpEnd

func forever(code string) string {
	return wt.OpLoop + code + wt.OpAgain + wt.OpEnd + wt.OpUnreachable // which the compiler wants to see
}

// growing is a guest whose memory may grow as far as its limits let it.
func growing(code string) wt.Program {
	p := wt.Guest(code + wt.Const(0))
	p.Memory = "\x01\x00\x01"
	return p
}

func with(code string, f func(*wt.Program)) []byte {
	p := wt.Guest(code)
	f(&p)
	return p.Bytes()
}

// before is a guest that runs the code before it is entered.
func before(export, code string, start bool) []byte {
	return with(wt.Done, func(p *wt.Program) {
		p.Functions = append(p.Functions, wt.Function{Export: export, Shape: wt.ShapeNone, Code: code})
		if start {
			p.Start = export
		}
	})
}

// wasi is a guest that may call a function of WASI, with index wt.FnFirst.
func wasi(function string, shape wt.Shape, code string) []byte {
	p := growing(code)
	p.Imports = append(p.Imports, wt.Function{Module: "wasi_snapshot_preview1", Export: function, Shape: shape})
	return p.Bytes()
}

func guest(code string) []byte { return wt.Guest(code).Bytes() }

// used says whether exactly the work was done.
func used(work int64) func(*pawl.Checkpoint, []pawl.LogLine) string {
	return func(c *pawl.Checkpoint, _ []pawl.LogLine) string {
		if c.Budgets.Work.Used != work {
			return fmt.Sprintf("it worked %d units, not %d", c.Budgets.Work.Used, work)
		}
		return ""
	}
}

// flooded says whether the log came to its limit and no further. Long lines are
// cut, and bytes that are no text become one sign, so less may be kept.
func flooded(_ *pawl.Checkpoint, logs []pawl.LogLine) string {
	size := 0
	for _, line := range logs {
		size += len(line.Text) + 64
		if len(line.Text) > 16<<10 {
			return fmt.Sprintf("a line of %d bytes", len(line.Text))
		}
	}
	if len(logs) < 2 || size > 1<<20+1<<15 {
		return fmt.Sprintf("the log has %d lines, %d bytes", len(logs), size)
	}
	if last := logs[len(logs)-1].Text; !strings.Contains(last, "left out") {
		return fmt.Sprintf("nothing was left out: %.100q", last)
	}
	return ""
}

// called says whether so many calls are recorded.
func called(least, most int) func(*pawl.Checkpoint, []pawl.LogLine) string {
	return func(c *pawl.Checkpoint, _ []pawl.LogLine) string {
		if n := len(c.Steps[0].Calls); n < least || n > most {
			return fmt.Sprintf("%d calls, not %d to %d", n, least, most)
		}
		return ""
	}
}

const mebibyte = 1 << 20

// misdeeds are computed once per process: some modules are large.
var misdeeds = sync.OnceValue(func() []misdeed {
	rows := []misdeed{
		{name: "loop", limits: `work = 50_000_000`, wasm: guest(forever("")), code: "work_limit", did: used(50_000_000)},
		{name: "loop-initialize", limits: `work = 1_000_000`, wasm: before("_initialize", forever(""), false), code: "work_limit", did: used(1_000_000)},
		{name: "loop-start", limits: `work = 1_000_000`, wasm: before("go", forever(""), true), code: "work_limit", did: used(1_000_000)},
		{name: "loop-granted-calls", limits: `calls = 50`, wasm: guest(forever(wt.GoodCall)), code: "call_limit", did: called(50, 2000)},
		{name: "loop-refused-calls", limits: `calls = 50`, wasm: guest(forever(otherCall)), code: "call_limit", did: called(50, 2000)},
		{name: "memory-bomb", limits: `memory = "4MiB"`, code: "unreachable", wasm: growing(
			wt.OpLoop + wt.Const(1) + memoryGrow + wt.Const(0xFFFFFFFF) + notEqual + again + wt.OpEnd +
				wt.Const(0) + wt.Const(0xAA) + memorySize + wt.Const(65536) + multiply + memoryFill +
				memorySize + wt.Const(64) + equal + proven).Bytes()},
		{name: "memory-bomb-default", code: "unreachable", wasm: growing(
			wt.Const(2047) + memoryGrow + wt.OpDrop +
				wt.Const(0) + wt.Const(0xAA) + memorySize + wt.Const(65536) + multiply + memoryFill +
				wt.Const(1) + memoryGrow + wt.Const(0xFFFFFFFF) + equal + proven).Bytes()},
		{name: "memory-grow-forever", limits: `work = 10_000_000`, wasm: growing(forever(wt.Const(65535) + memoryGrow + wt.OpDrop)).Bytes(), code: "work_limit"},
		{name: "memory-fill-4GiB", wasm: guest(wt.Const(0) + wt.Const(1) + wt.Const(0xFFFFFFFF) + memoryFill + wt.Const(0)), code: "out_of_bounds"},
		{name: "table-bomb", limits: `work = 100_000_000`, code: "unreachable", wasm: with(
			wt.OpLoop+tableGrow+wt.Const(4096)+"\xfc\x0f\x00"+wt.Const(0xFFFFFFFF)+notEqual+again+wt.OpEnd+
				"\xfc\x10\x00"+wt.Const(1<<19)+"\x4b"+"\xfc\x10\x00"+wt.Const(1<<20+1)+"\x49"+"\x71"+proven+wt.Const(0),
			func(p *wt.Program) { p.Tables = []string{"\x70\x00\x01"} })},
		{name: "recursion", wasm: guest(wt.Const(0) + wt.CallTo(wt.FnFirst)), code: "stack_overflow"},
		{name: "recursion-exports", code: "stack_overflow", wasm: with(wt.CallTo(wt.FnFirst+1)+wt.Const(0), func(p *wt.Program) {
			p.Functions = append(p.Functions,
				wt.Function{Export: "ping", Shape: wt.ShapeNone, Code: wt.CallTo(wt.FnFirst + 2)},
				wt.Function{Export: "pong", Shape: wt.ShapeNone, Code: wt.CallTo(wt.FnFirst + 1)})
		})},
		{name: "call-initialize", wasm: before("_initialize", wt.GoodCall, false), code: "call_in_initialize"},
		{name: "call-start", wasm: before("go", wt.GoodCall, true), code: "call_in_initialize"},
		{name: "output-initialize", wasm: before("_initialize", wt.GoodOutput, false), code: "put_in_initialize"},
		{name: "call-after-output", wasm: guest(wt.GoodOutput + wt.GoodCall + wt.Const(0)), did: called(1, 1)},
		{name: "call-after-failure", wasm: guest(wt.GoodFailure + wt.GoodCall + wt.Const(1)), code: "no", did: called(1, 1)},
		{name: "two-outputs", wasm: guest(wt.GoodOutput + wt.Done), code: "second_output"},
		{name: "output-1GiB-claimed", wasm: guest(wt.HostPut(abi.PutOutput, 0, 1<<30) + wt.Const(0)), code: "bad_pointer"},
		{name: "output-1GiB-real", limits: `memory = "1100MiB"`, code: "too_large", wasm: growing(
			wt.Const(16384) + memoryGrow + wt.OpDrop + wt.HostPut(abi.PutOutput, 0, 1<<30)).Bytes()},
		{name: "request-1GiB-real", limits: `memory = "1100MiB"`, code: "too_large", wasm: growing(
			wt.Const(16384) + memoryGrow + wt.OpDrop + wt.HostCall(wt.ToolAt, 4, 0, 1<<30)).Bytes()},
		{name: "log-lines", limits: `work = 300_000`, wasm: guest(forever(wt.HostPut(abi.PutInfo, wt.NameAt, 64))), code: "work_limit", did: flooded},
		{name: "log-line-endless", limits: `work = 2_000_000`, code: "work_limit", did: flooded, wasm: growing(
			wt.Const(255) + memoryGrow + wt.OpDrop + wt.Const(0) + wt.Const('x') + wt.Const(256<<16) + memoryFill +
				forever(wt.HostPut(abi.PutInfo, 0, 256<<16))).Bytes()},
		{name: "log-invalid-utf8", limits: `work = 300_000`, code: "work_limit", did: flooded, wasm: growing(
			wt.Const(0) + wt.Const(0xFF) + wt.Const(4096) + memoryFill + forever(wt.HostPut(abi.PutInfo, 0, 4096))).Bytes()},
		{name: "tool-not-granted", wasm: guest(otherCall + wt.GoodFailure + wt.Const(1)), code: "no", did: denied},
		{name: "tool-name-nul", wasm: forged("to\x00l"), code: "bad_tool_name"},
		{name: "tool-name-utf8", wasm: forged("\xff\xfe\xfd\xfc"), code: "bad_tool_name"},
		{name: "tool-name-1MiB", code: "bad_tool_name", wasm: growing(
			wt.Const(31) + memoryGrow + wt.OpDrop + wt.Const(0) + wt.Const('a') + wt.Const(mebibyte) + memoryFill + wt.HostCall(0, mebibyte, wt.FrameAt, 0)).Bytes()},
		{name: "wasi-random-2GiB", code: "unreachable", wasm: wasi("random_get", wt.ShapeTake,
			wt.Const(0)+wt.Const(2<<30)+wt.CallTo(wt.FnFirst)+proven)},
		{name: "wasi-random-flood", limits: `memory = "32MiB", work = 5_000_000`, code: "work_limit", wasm: wasi("random_get", wt.ShapeTake,
			wt.Const(400)+memoryGrow+wt.OpDrop+forever(wt.Const(0)+wt.Const(400<<16)+wt.CallTo(wt.FnFirst)+wt.OpDrop))},
		{name: "wasi-write-many", limits: `work = 1_000_000`, code: "work_limit", wasm: wasi("fd_write", wt.ShapePoll,
			wt.Const(300)+memoryGrow+wt.OpDrop+forever(wt.Const(2)+wt.Const(1024)+wt.Const(mebibyte)+wt.Const(0)+wt.CallTo(wt.FnFirst)+wt.OpDrop))},
		{name: "wasi-write-file", code: "unreachable", wasm: wasi("fd_write", wt.ShapePoll,
			wt.Const(3)+wt.Const(1024)+wt.Const(1)+wt.Const(0)+wt.CallTo(wt.FnFirst)+proven)},
		{name: "wasi-poll-absurd", limits: `work = 1_000_000`, code: "trap", wasm: wasi("poll_oneoff", wt.ShapePoll,
			wt.Const(1000)+wt.Const(2000)+wt.Const(0x10000000)+wt.Const(3000)+wt.CallTo(wt.FnFirst)+proven)},
		{name: "wasi-open", code: "unreachable", wasm: wasi("path_open", wt.Shape{Params: "\x7f\x7f\x7f\x7f\x7f\x7e\x7e\x7f\x7f", Results: "\x7f"},
			wt.Const(3)+wt.Const(0)+wt.Const(400)+wt.Const(10)+wt.Const(0)+"\x42\x00\x42\x00"+wt.Const(0)+wt.Const(500)+wt.CallTo(wt.FnFirst)+proven)},
	}
	return append(rows, badRanges()...)
})

// otherCall calls a tool that no step is granted.
var otherCall = wt.HostCall(wt.NameAt, 5, wt.FrameAt, uint32(len(wt.FrameText)))

func denied(c *pawl.Checkpoint, _ []pawl.LogLine) string {
	if calls := c.Steps[0].Calls; len(calls) != 1 || calls[0].Status != "denied" || calls[0].Key != "" {
		return fmt.Sprintf("%+v", calls)
	}
	return ""
}

// forged is a guest that names its tool so.
func forged(name string) []byte {
	return with(wt.HostCall(500, uint32(len(name)), wt.FrameAt, uint32(len(wt.FrameText)))+wt.Done, func(p *wt.Program) {
		p.Data = p.Data[:500] + name
	})
}

// badRanges are bad pointers and lengths of each function, before and after the
// memory has grown: what was outside is inside then, and the end has moved.
func badRanges() (rows []misdeed) {
	const page = 65536
	functions := map[string]func(pointer, length uint32) string{
		"take":    wt.HostTake,
		"put":     func(p, n uint32) string { return wt.HostPut(abi.PutInfo, p, n) },
		"output":  func(p, n uint32) string { return wt.HostPut(abi.PutOutput, p, n) },
		"tool":    func(p, n uint32) string { return wt.HostCall(p, n, wt.FrameAt, uint32(len(wt.FrameText))) },
		"request": func(p, n uint32) string { return wt.HostCall(wt.ToolAt, 4, p, n) },
	}
	for name, f := range functions {
		for i, span := range [][2]uint32{
			{page, 1}, {page - 1, 2}, {0, page + 1}, {1 << 31, 1}, {1 << 31, 1 << 31}, {1<<32 - 1, 1}, {1<<32 - 1, 1<<32 - 1}, {1, 1<<32 - 1}, {1<<32 - 16, 32},
		} {
			rows = append(rows, misdeed{name: fmt.Sprintf("range-%s-%d", name, i), wasm: guest(f(span[0], span[1]) + wt.Done), code: "bad_pointer"})
		}
		rows = append(rows, misdeed{name: "range-" + name + "-grown", code: "bad_pointer", wasm: growing(
			wt.Const(1) + memoryGrow + wt.OpDrop + wt.HostPut(abi.PutInfo, page, page) + f(2*page-1, 2)).Bytes()})
	}
	return rows
}
