package sandbox_test

import (
	"math/rand/v2"
	"strings"

	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// generator makes small valid modules that do a bit of everything and end: loops
// have a bound, and functions call only those behind them.
type generator struct {
	*rand.Rand
	shapes []wasmtest.Shape // the module's types
	types  []int            // of the functions
	bulk   int              // operations so far

	// Of the function that is made:
	function int
	locals   string // their types
	code     strings.Builder
	depth    int // blocks around
	loops    int // loops around
	budget   int // statements left
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
}

const valueTypes = "\x7f\x7e\x7c" // i32, i64, f64: NaN cannot be told apart here

func (g *generator) shape(most int) wasmtest.Shape {
	types := func() string {
		b := make([]byte, g.IntN(most+1))
		for i := range b {
			b[i] = valueTypes[g.IntN(len(valueTypes))]
		}
		return string(b)
	}
	return wasmtest.Shape{Params: types(), Results: types()}
}

// module returns a module that exports "f" (i64, i32) -> (i64, i32), a memory
// and a global "g".
func (g *generator) module() []byte {
	entry := wasmtest.Shape{Params: "\x7e\x7f", Results: "\x7e\x7f"}
	g.shapes = []wasmtest.Shape{entry, {}, {Params: "\x7f", Results: "\x7f"}, {Results: "\x7e\x7f"}, {Params: "\x7f\x7e", Results: "\x7e\x7f"}}
	g.types = []int{0}
	for range 1 + g.IntN(4) {
		g.shapes = append(g.shapes, g.shape(3))
		g.types = append(g.types, 1+g.IntN(len(g.shapes)-1))
	}
	var signatures, types, codes, elements []string
	for i, t := range g.types {
		types = append(types, wasmtest.Uleb(t))
		codes = append(codes, wasmtest.Text(g.body(i)))
		elements = append(elements, wasmtest.Uleb(i))
	}
	for _, s := range g.shapes {
		signatures = append(signatures, "\x60"+wasmtest.Text(s.Params)+wasmtest.Text(s.Results))
	}
	return []byte(wasmtest.Header + wasmtest.Section(1, wasmtest.Vector(signatures...)) + wasmtest.Section(3, wasmtest.Vector(types...)) +
		wasmtest.Section(4, wasmtest.Vector("\x70\x01\x08\x40")) + wasmtest.Section(5, "\x01\x01\x01\x04") +
		wasmtest.Section(6, wasmtest.Vector("\x7e\x01\x42\x05\x0b", "\x7f\x00\x41\x03\x0b")) +
		wasmtest.Section(7, wasmtest.Vector(wasmtest.Text("f")+"\x00\x00", wasmtest.Text("memory")+"\x02\x00", wasmtest.Text("g")+"\x03\x00")) +
		wasmtest.Section(9, wasmtest.Vector("\x00\x41\x00\x0b"+wasmtest.Vector(elements...), "\x05\x70"+wasmtest.Vector("\xd2\x00\x0b", "\xd0\x70\x0b"))) +
		wasmtest.Section(12, "\x01") + wasmtest.Section(10, wasmtest.Vector(codes...)) + wasmtest.Section(11, wasmtest.Vector("\x01"+wasmtest.Text("some bytes"))))
}

// body makes a function: statements, then its results.
func (g *generator) body(function int) string {
	s := g.shapes[g.types[function]]
	g.function, g.depth, g.loops, g.budget = function, 0, 0, 30
	g.code.Reset()
	// Locals: the parameters, one i32 that bounds each depth of loops, others.
	g.locals = s.Params + "\x7f\x7f\x7f" + "\x7f\x7e\x7c"
	g.statements()
	for i := range len(s.Results) {
		g.value(s.Results[i], 3)
	}
	return "\x04\x03\x7f\x01\x7f\x01\x7e\x01\x7c" + g.code.String() + "\x0b"
}

func (g *generator) emit(parts ...string) {
	for _, p := range parts {
		g.code.WriteString(p)
	}
}

// bounds is the local that bounds the loops of a depth.
func (g *generator) bounds(depth int) int {
	return len(g.shapes[g.types[g.function]].Params) + depth
}

// local returns a local of the type that no loop needs.
func (g *generator) local(typ byte) string {
	var fit []int
	for i := range len(g.locals) {
		if g.locals[i] == typ && (i < g.bounds(0) || i > g.bounds(2)) {
			fit = append(fit, i)
		}
	}
	return wasmtest.Uleb(fit[g.IntN(len(fit))])
}

func (g *generator) statements() {
	for range 1 + g.IntN(5) {
		if g.budget--; g.budget < 0 {
			return
		}
		g.statement()
	}
}

func (g *generator) statement() {
	kinds := []func(){
		g.assign, g.assign, g.setGlobal, g.store, g.block, g.loop, g.loop, g.branch, g.call, g.bulkOperation, g.table, g.leave, g.idle,
	}
	kinds[g.IntN(len(kinds))]()
}

func (g *generator) assign() {
	typ := valueTypes[g.IntN(3)]
	g.value(typ, 3)
	g.emit("\x21", g.local(typ))
}

func (g *generator) setGlobal() {
	g.value('\x7e', 3)
	g.emit("\x24\x00")
}

func (g *generator) store() {
	g.address()
	g.value('\x7e', 2)
	g.emit("\x37\x00", wasmtest.Uleb(g.IntN(64)))
}

// idle does nothing, sometimes for more than a unit of work.
func (g *generator) idle() { g.emit(strings.Repeat("\x01", g.IntN(400))) }

func (g *generator) block() {
	g.emit("\x02\x40")
	g.depth++
	g.statements()
	g.depth--
	g.emit("\x0b")
}

func (g *generator) branch() {
	g.value('\x7f', 2)
	g.emit("\x04\x40")
	g.depth++
	g.statements()
	if g.IntN(2) == 0 {
		g.emit("\x05")
		g.statements()
	}
	g.depth--
	g.emit("\x0b")
}

// loop makes a loop of at most four rounds, sometimes with parameters.
func (g *generator) loop() {
	if g.loops == 3 {
		return
	}
	bound := wasmtest.Uleb(g.bounds(g.loops))
	g.emit(wasmtest.Const(uint32(1+g.IntN(4))), "\x21", bound)
	g.loops++
	if g.IntN(3) > 0 {
		g.emit("\x03\x40")
		g.depth++
		g.statements()
		g.depth--
		g.emit("\x20", bound, wasmtest.Const(1), "\x6b\x22", bound, "\x0d\x00\x0b")
	} else {
		// Type 4: (i32, i64) -> (i64, i32), its values carried from round to round.
		g.value('\x7f', 1)
		g.value('\x7e', 1)
		g.emit("\x03\x04", "\x21", g.local('\x7e'), "\x21", g.local('\x7f'))
		g.depth++
		g.statements()
		g.depth--
		g.value('\x7f', 1)
		g.value('\x7e', 1)
		g.emit("\x20", bound, wasmtest.Const(1), "\x6b\x22", bound, "\x0d\x00")
		g.emit("\x21", g.local('\x7e'), "\x21", g.local('\x7f'))
		g.value('\x7e', 1)
		g.value('\x7f', 1)
		g.emit("\x0b\x1a\x1a")
	}
	g.loops--
}

// call calls a function behind this one, directly or through the table.
func (g *generator) call() {
	behind := len(g.types) - g.function - 1
	if behind == 0 || g.loops > 1 {
		return
	}
	callee := g.function + 1 + g.IntN(behind)
	s := g.shapes[g.types[callee]]
	for i := range len(s.Params) {
		g.value(s.Params[i], 2)
	}
	if g.IntN(2) == 0 {
		g.emit(wasmtest.CallTo(callee))
	} else {
		g.emit(wasmtest.Const(uint32(callee)), "\x11", wasmtest.Uleb(g.types[callee]), "\x00")
	}
	g.emit(strings.Repeat(wasmtest.OpDrop, len(s.Results)))
}

// small gives an i32 that is seldom out of bounds.
func (g *generator) small(most int) {
	if g.IntN(60) == 0 {
		g.value('\x7f', 2)
		return
	}
	g.emit(wasmtest.Const(uint32(g.IntN(most))))
}

func (g *generator) address() { g.small(60_000) }

func (g *generator) bulkOperation() {
	g.bulk++
	switch g.IntN(5) {
	case 0:
		g.address()
		g.value('\x7f', 1)
		g.small(5000)
		g.emit("\xfc\x0b\x00")
	case 1:
		g.address()
		g.address()
		g.small(5000)
		g.emit("\xfc\x0a\x00\x00")
	case 2:
		g.address()
		g.small(5)
		g.small(5)
		g.emit("\xfc\x08\x00\x00")
	case 3:
		g.small(3)
		g.emit("\x40\x00", wasmtest.OpDrop)
	case 4:
		g.emit("\x3f\x00\x21", g.local('\x7f'))
	}
}

// table changes entries of the table that are not called, and looks at them.
func (g *generator) table() {
	g.bulk++
	switch g.IntN(5) {
	case 0:
		g.emit(wasmtest.Const(7), "\xd0\x70", wasmtest.Const(1), "\xfc\x11\x00")
	case 1:
		g.emit(wasmtest.Const(6), wasmtest.Const(0), wasmtest.Const(2), "\xfc\x0c\x01\x00")
	case 2:
		g.emit(wasmtest.Const(6), wasmtest.Const(7), wasmtest.Const(uint32(g.IntN(2))), "\xfc\x0e\x00\x00")
	case 3:
		g.emit("\xd2\x00")
		g.small(40)
		g.emit("\xfc\x0f\x00\x21", g.local('\x7f'))
	case 4:
		g.emit(wasmtest.Const(6), "\x25\x00\xd1\x21", g.local('\x7f'))
	}
}

// leave branches out of a block, or returns, perhaps; what follows may be code
// that is never reached. Loops are left only at their ends.
func (g *generator) leave() {
	if g.loops > 0 || g.depth == 0 {
		return
	}
	switch g.IntN(4) {
	case 0:
		g.emit("\x0c\x00")
	case 1:
		g.value('\x7f', 2)
		g.emit("\x0d", wasmtest.Uleb(g.IntN(g.depth)))
	case 2:
		g.value('\x7f', 2)
		g.emit("\x0e\x02\x00", wasmtest.Uleb(g.IntN(g.depth)), wasmtest.Uleb(g.IntN(g.depth)))
	case 3:
		s := g.shapes[g.types[g.function]]
		for i := range len(s.Results) {
			g.value(s.Results[i], 1)
		}
		g.emit("\x0f", wasmtest.OpDrop) // of a value that never was
	}
}

// value makes an expression of the type.
func (g *generator) value(typ byte, depth int) {
	if depth == 0 || g.IntN(4) == 0 {
		if g.IntN(2) == 0 {
			g.emit("\x20", g.local(typ))
			return
		}
		switch typ {
		case '\x7f':
			g.emit(wasmtest.Const(g.Uint32() >> g.IntN(32)))
		case '\x7e':
			g.emit("\x42", wasmtest.Sleb(g.Int64()>>g.IntN(64)))
		default:
			g.emit("\x44", "\x00\x00\x00\x00\x00\x00", string([]byte{byte(g.IntN(256)), 0x40}))
		}
		return
	}
	depth--
	switch g.IntN(6) {
	case 0: // an if with a value
		g.value('\x7f', depth)
		g.emit("\x04", string([]byte{typ}))
		g.value(typ, depth)
		g.emit("\x05")
		g.value(typ, depth)
		g.emit("\x0b")
		return
	case 1: // select
		g.value(typ, depth)
		g.value(typ, depth)
		g.value('\x7f', depth)
		g.emit("\x1b")
		return
	case 2:
		if typ != '\x7f' {
			g.address()
			g.emit(map[byte]string{'\x7e': "\x29", '\x7c': "\x29"}[typ], "\x00", wasmtest.Uleb(g.IntN(64)))
			if typ == '\x7c' {
				g.emit("\xb9") // a number from the memory, never NaN
			}
			return
		}
		g.value('\x7c', depth)
		g.emit("\xfc\x02") // saturating
		return
	}
	g.value(typ, depth)
	g.value(typ, depth)
	switch typ {
	case '\x7f':
		g.emit(string([]byte{0x6a + byte(g.IntN(15))}))
	case '\x7e':
		g.emit(string([]byte{0x7c + byte(g.IntN(15))}))
	default:
		g.emit(string([]byte{0xa0 + byte(g.IntN(4))}))
	}
}
