package sandbox_test

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
)

// A small assembler, so that modules can do what no compiler would.

// shape is a function's parameters and results.
type shape struct{ params, results string }

var (
	shapeNone = shape{"", ""}
	shapeStep = shape{"\x7f", "\x7f"}
	shapeCall = shape{"\x7f\x7f\x7f\x7f", "\x7e"}
	shapeTake = shape{"\x7f\x7f", "\x7f"}
	shapePut  = shape{"\x7f\x7f\x7f", ""}
	shapeExit = shape{"\x7f", ""}
	shapePoll = shape{"\x7f\x7f\x7f\x7f", "\x7f"}
)

type function struct {
	export string // or an import's name
	shape
	module string // of an import
	code   string // without the end; one i32 local follows the parameters
}

// program is a module in parts. The zero value of a part leaves it out.
type program struct {
	imports   []function
	functions []function
	start     string // the export that is also the start function
	tables    []string
	memory    string // the memory section's content
	noMemory  bool   // the memory is not exported
	data      string // at address 0
	rawImport string // further imports, as bytes
	rawCount  int
}

// guestProgram is a program with the usual imports, a page of memory and a
// step of the code.
func guestProgram(code string) program {
	return program{
		imports: []function{
			{module: abi.Module, export: abi.FuncCall, shape: shapeCall},
			{module: abi.Module, export: abi.FuncTake, shape: shapeTake},
			{module: abi.Module, export: abi.FuncPut, shape: shapePut},
		},
		functions: []function{{export: abi.ExportStep, shape: shapeStep, code: code}},
		memory:    "\x01\x00\x01",
		data:      data,
	}
}

// Indices of the usual imports.
const fnCall, fnTake, fnPut, fnFirst = 0, 1, 2, 3

// What the usual memory holds, and where.
const (
	frameAt, toolAt, outputAt, failureAt, nameAt = 0, 100, 200, 300, 400

	frameText   = "\x0f\x00\x00\x00" + `{"type":"json"}` + "null"
	toolText    = "tool"
	outputText  = `"out"`
	failureText = `{"code":"no","message":"m"}`
)

var data = place(map[int]string{
	frameAt: frameText, toolAt: toolText, outputAt: outputText, failureAt: failureText, nameAt: strings.Repeat("a", 65),
})

func place(at map[int]string) string {
	b := make([]byte, 600)
	for offset, text := range at {
		copy(b[offset:], text)
	}
	return string(b)
}

func uleb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func sleb(n int64) string {
	var b []byte
	for {
		low := byte(n & 0x7f)
		n >>= 7
		if n == 0 && low&0x40 == 0 || n == -1 && low&0x40 != 0 {
			return string(append(b, low))
		}
		b = append(b, low|0x80)
	}
}

func vector(items ...string) string { return uleb(len(items)) + strings.Join(items, "") }
func text(s string) string          { return uleb(len(s)) + s }

func section(id byte, content string) string { return string(id) + text(content) }

const header = "\x00asm\x01\x00\x00\x00"

func (p program) bytes() []byte {
	var shapes []shape
	typeOf := func(s shape) string {
		if !slices.Contains(shapes, s) {
			shapes = append(shapes, s)
		}
		return uleb(slices.Index(shapes, s))
	}
	var imports, types, exports, codes []string
	for _, f := range p.imports {
		imports = append(imports, text(f.module)+text(f.export)+"\x00"+typeOf(f.shape))
	}
	start := ""
	for i, f := range p.functions {
		index := uleb(len(p.imports) + i)
		types = append(types, typeOf(f.shape))
		if f.export != "" {
			exports = append(exports, text(f.export)+"\x00"+index)
		}
		if f.export != "" && f.export == p.start {
			start = section(8, index)
		}
		codes = append(codes, text("\x01\x01\x7f"+f.code+"\x0b"))
	}
	if p.memory != "" && !p.noMemory {
		exports = append(exports, text("memory")+"\x02\x00")
	}
	var signatures []string
	for _, s := range shapes {
		signatures = append(signatures, "\x60"+text(s.params)+text(s.results))
	}
	out := header + section(1, vector(signatures...)) +
		section(2, uleb(len(imports)+p.rawCount)+strings.Join(imports, "")+p.rawImport) + section(3, vector(types...))
	if p.tables != nil {
		out += section(4, vector(p.tables...))
	}
	if p.memory != "" {
		out += section(5, p.memory)
	}
	out += section(7, vector(exports...)) + start + section(10, vector(codes...))
	if p.memory != "" && p.data != "" {
		out += section(11, vector("\x00"+constant(0)+"\x0b"+text(p.data)))
	}
	return []byte(out)
}

// Instructions.

const (
	opUnreachable = "\x00"
	opDrop        = "\x1a"
	opLoop        = "\x03\x40"
	opEnd         = "\x0b"
	opAgain       = "\x0c\x00" // br 0
	opDivide      = "\x6d"
)

func constant(n uint32) string { return "\x41" + sleb(int64(int32(n))) }

// soil is a function that fills the stack below its caller with numbers of 64
// bits: an argument of 32 bits leaves the upper half of its place as it was.
// It calls itself, so its index must be known.
func soil(index int) function {
	code := "\x20\x01\x45\x04\x40\x0f" + opEnd // if the depth is 0: return
	const values = 30
	for i := range values {
		code += "\x20\x00\x42" + sleb(int64(i)) + "\x7c" // the number and i
	}
	code += "\x20\x00" + "\x20\x01" + constant(1) + "\x6b" + callTo(index) // one deeper
	code += strings.Repeat("\x85", values-1) + opDrop
	return function{shape: shape{"\x7e\x7f", ""}, code: code}
}

func callSoil(index int) string {
	return "\x42" + sleb(-0x2152_4111_2152_4111) + constant(4) + callTo(index)
}

func loadFrom(at int) string  { return constant(uint32(at)) + "\x28\x00\x00" }
func callTo(index int) string { return "\x10" + uleb(index) }

func hostCall(tool, toolLen, request, requestLen uint32) string {
	return constant(tool) + constant(toolLen) + constant(request) + constant(requestLen) + callTo(fnCall) + opDrop
}

func hostTake(dst, capacity uint32) string {
	return constant(dst) + constant(capacity) + callTo(fnTake) + opDrop
}

func hostPut(kind abi.PutKind, pointer, length uint32) string {
	return constant(uint32(kind)) + constant(pointer) + constant(length) + callTo(fnPut)
}

var (
	goodCall    = hostCall(toolAt, uint32(len(toolText)), frameAt, uint32(len(frameText)))
	goodOutput  = hostPut(abi.PutOutput, outputAt, uint32(len(outputText)))
	goodFailure = hostPut(abi.PutFailure, failureAt, uint32(len(failureText)))
	done        = goodOutput + constant(0)
)
