package wasmtest

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
)

// Shape is a function's parameters and results, one byte for each: "\x7f" is an
// i32, "\x7e" an i64.
type Shape struct{ Params, Results string }

// The shapes of what a guest exports and imports.
var (
	ShapeNone = Shape{"", ""}
	ShapeStep = Shape{"\x7f", "\x7f"}
	ShapeCall = Shape{"\x7f\x7f\x7f\x7f", "\x7e"}
	ShapeTake = Shape{"\x7f\x7f", "\x7f"}
	ShapePut  = Shape{"\x7f\x7f\x7f", ""}
	ShapeExit = Shape{"\x7f", ""}
	ShapePoll = Shape{"\x7f\x7f\x7f\x7f", "\x7f"}
)

// Function is one of the module's own, or an imported one.
type Function struct {
	Export string // or an import's name
	Shape
	Module string // of an import
	Locals string // the groups of them; defaults to one i32
	Code   string // without the end; locals follow the parameters
}

// Program is a module in parts. The zero value of a part leaves it out.
type Program struct {
	Imports   []Function
	Functions []Function
	Start     string // the export that is also the start function
	Tables    []string
	Memory    string // the memory section's content
	NoMemory  bool   // the memory is not exported
	Data      string // at address 0
	RawImport string // further imports, as bytes
	RawCount  int
}

// Guest is a program with the usual imports, a page of memory and a
// step of the code.
func Guest(code string) Program {
	return Program{
		Imports: []Function{
			{Module: abi.Module, Export: abi.FuncCall, Shape: ShapeCall},
			{Module: abi.Module, Export: abi.FuncTake, Shape: ShapeTake},
			{Module: abi.Module, Export: abi.FuncPut, Shape: ShapePut},
		},
		Functions: []Function{{Export: abi.ExportStep, Shape: ShapeStep, Code: code}},
		Memory:    "\x01\x00\x01",
		Data:      Data,
	}
}

// Indices of the usual imports.
const FnCall, FnTake, FnPut, FnFirst = 0, 1, 2, 3

// What the usual memory holds, and where.
const (
	FrameAt, ToolAt, OutputAt, FailureAt, NameAt = 0, 100, 200, 300, 400

	FrameText   = "\x0f\x00\x00\x00" + `{"type":"json"}` + "null"
	ToolText    = "tool"
	OutputText  = `"out"`
	FailureText = `{"code":"no","message":"m"}`
)

// Data is what the usual memory holds; the rest is zeros.
var Data = Place(map[int]string{
	FrameAt: FrameText, ToolAt: ToolText, OutputAt: OutputText, FailureAt: FailureText, NameAt: strings.Repeat("a", 65),
})

// Place lays texts into 600 bytes, each at its offset.
func Place(at map[int]string) string {
	b := make([]byte, 600)
	for offset, text := range at {
		copy(b[offset:], text)
	}
	return string(b)
}

// Uleb is an unsigned number in LEB128.
func Uleb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// Sleb is a signed number in LEB128.
func Sleb(n int64) string {
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

// Vector is a count and the items.
func Vector(items ...string) string { return Uleb(len(items)) + strings.Join(items, "") }

// Text is a length and the bytes.
func Text(s string) string { return Uleb(len(s)) + s }

// Section is a section of a module; id says which.
func Section(id byte, content string) string { return string(id) + Text(content) }

// Header is how every module begins.
const Header = "\x00asm\x01\x00\x00\x00"

// Bytes is the module.
func (p Program) Bytes() []byte {
	var shapes []Shape
	typeOf := func(s Shape) string {
		if !slices.Contains(shapes, s) {
			shapes = append(shapes, s)
		}
		return Uleb(slices.Index(shapes, s))
	}
	var imports, types, exports, codes []string
	for _, f := range p.Imports {
		imports = append(imports, Text(f.Module)+Text(f.Export)+"\x00"+typeOf(f.Shape))
	}
	start := ""
	for i, f := range p.Functions {
		index := Uleb(len(p.Imports) + i)
		types = append(types, typeOf(f.Shape))
		if f.Export != "" {
			exports = append(exports, Text(f.Export)+"\x00"+index)
		}
		if f.Export != "" && f.Export == p.Start {
			start = Section(8, index)
		}
		codes = append(codes, Text(cmp.Or(f.Locals, "\x01\x01\x7f")+f.Code+"\x0b"))
	}
	if p.Memory != "" && !p.NoMemory {
		exports = append(exports, Text("memory")+"\x02\x00")
	}
	var signatures []string
	for _, s := range shapes {
		signatures = append(signatures, "\x60"+Text(s.Params)+Text(s.Results))
	}
	out := Header + Section(1, Vector(signatures...)) +
		Section(2, Uleb(len(imports)+p.RawCount)+strings.Join(imports, "")+p.RawImport) + Section(3, Vector(types...))
	if p.Tables != nil {
		out += Section(4, Vector(p.Tables...))
	}
	if p.Memory != "" {
		out += Section(5, p.Memory)
	}
	out += Section(7, Vector(exports...)) + start + Section(10, Vector(codes...))
	if p.Memory != "" && p.Data != "" {
		out += Section(11, Vector("\x00"+Const(0)+"\x0b"+Text(p.Data)))
	}
	return []byte(out)
}

// Instructions.

const (
	OpUnreachable = "\x00"
	OpDrop        = "\x1a"
	OpLoop        = "\x03\x40"
	OpEnd         = "\x0b"
	OpAgain       = "\x0c\x00" // br 0
	OpDivide      = "\x6d"
)

// Const64 is i64.const.
func Const64(n int64) string { return "\x42" + Sleb(n) }

// Const is i32.const.
func Const(n uint32) string { return "\x41" + Sleb(int64(int32(n))) }

// Soil is a function that fills the stack below its caller with numbers of 64
// bits: an argument of 32 bits leaves the upper half of its place as it was.
// It calls itself, so its index must be known.
func Soil(index int) Function {
	code := "\x20\x01\x45\x04\x40\x0f" + OpEnd // if the depth is 0: return
	const values = 30
	for i := range values {
		code += "\x20\x00\x42" + Sleb(int64(i)) + "\x7c" // the number and i
	}
	code += "\x20\x00" + "\x20\x01" + Const(1) + "\x6b" + CallTo(index) // one deeper
	code += strings.Repeat("\x85", values-1) + OpDrop
	return Function{Shape: Shape{"\x7e\x7f", ""}, Code: code}
}

// CallSoil calls the function that [Soil] made for the index.
func CallSoil(index int) string {
	return "\x42" + Sleb(-0x2152_4111_2152_4111) + Const(4) + CallTo(index)
}

// LoadFrom loads an i32.
func LoadFrom(at int) string { return Const(uint32(at)) + "\x28\x00\x00" }

// CallTo calls the function of the index.
func CallTo(index int) string { return "\x10" + Uleb(index) }

// HostCall calls a tool and drops what it says.
func HostCall(tool, toolLen, request, requestLen uint32) string {
	return Const(tool) + Const(toolLen) + Const(request) + Const(requestLen) + CallTo(FnCall) + OpDrop
}

// HostTake takes what is in the slot and drops its length.
func HostTake(dst, capacity uint32) string {
	return Const(dst) + Const(capacity) + CallTo(FnTake) + OpDrop
}

// HostPut puts the bytes out.
func HostPut(kind abi.PutKind, pointer, length uint32) string {
	return Const(uint32(kind)) + Const(pointer) + Const(length) + CallTo(FnPut)
}

// What a guest that means well does, with the usual memory. Done is how it ends.
var (
	GoodCall    = HostCall(ToolAt, uint32(len(ToolText)), FrameAt, uint32(len(FrameText)))
	GoodOutput  = HostPut(abi.PutOutput, OutputAt, uint32(len(OutputText)))
	GoodFailure = HostPut(abi.PutFailure, FailureAt, uint32(len(FailureText)))
	Done        = GoodOutput + Const(0)
)
