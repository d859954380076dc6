package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// instruction is one of the specification: its opcode, what it takes from the
// stack and leaves there, and what follows it. Types are written i (i32), l
// (i64), f (f32), d (f64), v (v128), r (funcref).
type instruction struct {
	op             string
	takes, leaves  string
	immediate      string
	before, behind string // a block around it
	feature        wasm.Feature
	unknown        bool
}

// The lists below follow the chapters of the specification (WebAssembly 2.0,
// "Instructions" of the binary format): from, to, takes, leaves.
var numeric = `
45 45 i i  46 4f ii i  50 50 l i  51 5a ll i  5b 60 ff i  61 66 dd i
67 69 i i  6a 78 ii i  79 7b l l  7c 8a ll l  8b 91 f f   92 98 ff f  99 9f d d  a0 a6 dd d
a7 a7 l i  a8 a9 f i   aa ab d i  ac ad i l   ae af f l   b0 b1 d l   b2 b3 i f  b4 b5 l f
b6 b6 d f  b7 b8 i d   b9 ba l d  bb bb f d   bc bc f i   bd bd d l   be be i f  bf bf l d
c0 c1 i i  c2 c4 l l`

var saturating = `00 01 f i  02 03 d i  04 05 f l  06 07 d l`

var memoryAccess = `
28 28 i i  29 29 i l  2a 2a i f  2b 2b i d  2c 2f i i  30 35 i l
36 36 ii - 37 37 il - 38 38 if - 39 39 id - 3a 3b ii - 3c 3e il -`

var vectorAccess = `00 0a i v  0b 0b iv -  5c 5d i v`

var vectorLaneAccess = `54 57 iv v  58 5b iv -`

var vectorLanes = `
15 16 v i  17 17 vi v  18 19 v i  1a 1a vi v  1b 1b v i  1c 1c vi v  1d 1d v l  1e 1e vl v
1f 1f v f  20 20 vf v  21 21 v d  22 22 vd v`

var vectorNumeric = `
0e 0e vv v  0f 11 i v   12 12 l v   13 13 f v   14 14 d v   23 4c vv v  4d 4d v v  4e 51 vv v
52 52 vvv v 53 53 v i   5e 5f v v   60 62 v v   63 64 v i   65 66 vv v  67 6a v v  6b 6d vi v
6e 73 vv v  74 75 v v   76 79 vv v  7a 7a v v   7b 7b vv v  7c 7f v v   80 81 v v  82 82 vv v
83 84 v i   85 86 vv v  87 8a v v   8b 8d vi v  8e 93 vv v  94 94 v v   95 99 vv v 9b 9f vv v
a0 a1 v v   a3 a4 v i   a7 aa v v   ab ad vi v  ae ae vv v  b1 b1 vv v  b5 ba vv v bc bf vv v
c0 c1 v v   c3 c4 v i   c7 ca v v   cb cd vi v  ce ce vv v  d1 d1 vv v  d5 df vv v e0 e1 v v
e3 e3 v v   e4 eb vv v  ec ed v v   ef ef v v   f0 f7 vv v  f8 ff v v`

// misleading is an immediate whose bytes are instructions too: a reader that
// takes it for code goes wrong.
const misleading = "\x03\x40\x0b\x10\x03\x40\x0b\x10\x03\x40\x0b\x10\x03\x40\x0b\x10"

var single = []instruction{
	{op: "\x00"},
	{op: "\x01"},
	{op: "\x02", immediate: "\x40", behind: "\x0b"},
	{op: "\x02", immediate: "\x83\x00", takes: "i", leaves: "i", behind: "\x0b"}, // a type's index, longer than it needs
	{op: "\x03", immediate: "\x03", takes: "i", leaves: "i", behind: "\x0b"},
	{op: "\x04", immediate: "\x40", takes: "i", behind: "\x0b"},
	{op: "\x05", before: "\x41\x00\x04\x40", behind: "\x0b"},
	{op: "\x0b", before: "\x02\x40"},
	{op: "\x0c", immediate: "\x00"},
	{op: "\x0d", immediate: "\x80\x00", takes: "i"},
	{op: "\x0e", immediate: "\x03\x00\x00\x80\x00\x00", takes: "i"},
	{op: "\x0f"},
	{op: "\x10", immediate: "\x01"},
	{op: "\x11", immediate: "\x00\x00", takes: "i"},
	{op: "\x1a", takes: "i"},
	{op: "\x1b", takes: "iii", leaves: "i"},
	{op: "\x1c", immediate: "\x01\x7f", takes: "iii", leaves: "i"},
	{op: "\x20", immediate: "\x00", leaves: "i"},
	{op: "\x21", immediate: "\x00", takes: "i"},
	{op: "\x22", immediate: "\x80\x80\x00", takes: "i", leaves: "i"},
	{op: "\x23", immediate: "\x00", leaves: "i"},
	{op: "\x24", immediate: "\x00", takes: "i"},
	{op: "\x25", immediate: "\x00", takes: "i", leaves: "r"},
	{op: "\x26", immediate: "\x00", takes: "ir"},
	{op: "\x3f", immediate: "\x00", leaves: "i"},
	{op: "\x40", immediate: "\x00", takes: "i", leaves: "i"},
	{op: "\x41", immediate: "\x83\xc0\x0b", leaves: "i"},
	{op: "\x42", immediate: "\x83\xc0\x8b\x90\x83\xc0\x0b", leaves: "l"},
	{op: "\x43", immediate: misleading[:4], leaves: "f"},
	{op: "\x44", immediate: misleading[:8], leaves: "d"},
	{op: "\xd0", immediate: "\x70", leaves: "r"},
	{op: "\xd1", takes: "r", leaves: "i"},
	{op: "\xd2", immediate: "\x01", leaves: "r"},

	{op: "\xfc\x08", immediate: "\x00\x00", takes: "iii"},
	{op: "\xfc\x09", immediate: "\x00"},
	{op: "\xfc\x0a", immediate: "\x00\x00", takes: "iii"},
	{op: "\xfc\x0b", immediate: "\x00", takes: "iii"},
	{op: "\xfc\x0c", immediate: "\x00\x00", takes: "iii"},
	{op: "\xfc\x0d", immediate: "\x00"},
	{op: "\xfc\x0e", immediate: "\x00\x00", takes: "iii"},
	{op: "\xfc\x0f", immediate: "\x00", takes: "ri", leaves: "i"},
	{op: "\xfc\x10", immediate: "\x00", leaves: "i"},
	{op: "\xfc\x11", immediate: "\x00", takes: "iri"},

	{op: "\xfd\x0c", immediate: misleading, leaves: "v"},
	{op: "\xfd\x0d", immediate: strings.ReplaceAll(misleading, "\x40", "\x04"), takes: "vv", leaves: "v"},
}

// later are the opcodes that later features have taken.
var later = map[wasm.Feature]string{
	wasm.FeatureExceptions: "\x06\x07\x08\x09\x0a\x18\x19\x1f",
	wasm.FeatureTailCalls:  "\x12\x13",
	wasm.FeatureTypedRefs:  "\x14\x15\xd4\xd5\xd6",
	wasm.FeatureGC:         "\xd3\xfb",
	wasm.FeatureThreads:    "\xfe",
}

// specification returns every opcode: 0x00 to 0xff, and behind the prefixes.
func specification() []instruction {
	all := append([]instruction(nil), single...)
	for _, list := range []struct{ prefix, rows, immediate string }{
		{"", numeric, ""},
		{"", memoryAccess, "\x00\x8b\x00"},
		{"\xfc", saturating, ""},
		{"\xfd", vectorAccess, "\x00\x83\xc0\x00"},
		{"\xfd", vectorLaneAccess, "\x00\x8b\x00\x01"},
		{"\xfd", vectorLanes, "\x01"},
		{"\xfd", vectorNumeric, ""},
	} {
		fields := strings.Fields(list.rows)
		for ; len(fields) > 0; fields = fields[4:] {
			var from, to int
			fmt.Sscanf(fields[0], "%x", &from)
			fmt.Sscanf(fields[1], "%x", &to)
			for op := from; op <= to; op++ {
				all = append(all, instruction{
					op: coded(list.prefix, op), immediate: list.immediate,
					takes: fields[2], leaves: strings.Trim(fields[3], "-"),
				})
			}
		}
	}
	known := make(map[string]bool)
	for _, i := range all {
		known[i.op] = true
	}
	for feature, ops := range later {
		for i := range len(ops) {
			all = append(all, instruction{op: ops[i : i+1], feature: feature})
			known[ops[i:i+1]] = true
		}
	}
	for op := range 0x180 {
		for _, prefix := range []string{"", "\xfc", "\xfd"} {
			code := coded(prefix, op)
			isPrefix := prefix == "" && (op > 0xff || op == 0xfc || op == 0xfd)
			if known[code] || isPrefix {
				continue
			}
			i := instruction{op: code, unknown: true}
			if prefix == "\xfd" && op >= 0x100 {
				i = instruction{op: code, feature: wasm.FeatureRelaxedSIMD}
			}
			all = append(all, i)
		}
	}
	return all
}

func coded(prefix string, op int) string {
	if prefix == "" {
		return string([]byte{byte(op)})
	}
	return prefix + wasmtest.Uleb(op)
}

func (i instruction) String() string { return fmt.Sprintf("%x", i.op) }

var pushes = map[rune]string{
	'i': "\x41\x00", 'l': "\x42\x00", 'f': "\x43\x00\x00\x00\x00", 'd': "\x44\x00\x00\x00\x00\x00\x00\x00\x00",
	'v': "\xfd\x0c" + strings.Repeat("\x00", 16), 'r': "\xd0\x70",
}

// heads are what the module counts besides the instruction: the function's entry
// and a loop on either side.
const heads = 3

// module is a module in whose function "f" the instruction stands.
func (i instruction) module() []byte {
	const loop = "\x03\x40\x0b"
	code := loop + i.before
	for _, t := range i.takes {
		code += pushes[t]
	}
	code += i.op + i.immediate + i.behind + strings.Repeat(wasmtest.OpDrop, len(i.leaves)) + loop
	return []byte(wasmtest.Header +
		wasmtest.Section(1, wasmtest.Vector("\x60\x00\x00", "\x60\x00\x00", "\x60\x00\x00", "\x60\x01\x7f\x01\x7f")) +
		wasmtest.Section(3, wasmtest.Vector("\x00", "\x00")) +
		wasmtest.Section(4, wasmtest.Vector("\x70\x00\x05")) + wasmtest.Section(5, "\x01\x00\x01") + wasmtest.Section(6, wasmtest.Vector("\x7f\x01\x41\x00\x0b")) +
		wasmtest.Section(7, wasmtest.Vector(wasmtest.Text("f")+"\x00\x00")) + wasmtest.Section(9, wasmtest.Vector("\x01\x00\x01\x01")) +
		wasmtest.Section(12, "\x01") + wasmtest.Section(10, wasmtest.Vector(wasmtest.Text("\x01\x01\x7f"+code+"\x0b"), wasmtest.Text("\x00\x0b"))) +
		wasmtest.Section(11, wasmtest.Vector("\x01"+wasmtest.Text("data"))))
}

// Every opcode is read as what the specification says: wazero accepts the
// instruction as it is and rewritten, and the loop behind it was seen. Seen red
// with f64.const as four bytes, with 0x3e missing, and with 0xfd 0x9a allowed.
func TestEveryOpcode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer r.Close(ctx)
	opcodes := make(map[string]bool)
	for _, i := range specification() {
		opcodes[i.op] = true
		module := i.module()
		m, err := wasm.Parse(module, nil)
		if i.feature != "" || i.unknown {
			var format *wasm.FormatError
			if !errors.As(err, &format) || format.Feature != i.feature || format.Section != "code" {
				t.Errorf("%s: %v, want a format error of feature %q", i, err, i.feature)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", i, err)
			continue
		}
		rewritten, err := m.Instrument(rewriting)
		if err != nil {
			t.Fatal(err)
		}
		for what, b := range map[string][]byte{"as it is": module, "rewritten": rewritten} {
			if _, err := r.CompileModule(ctx, b); err != nil {
				t.Errorf("%s, %s: %v", i, what, err)
			}
		}
		want := heads + 1 // the other function
		switch {
		case i.op == "\x03":
			want++
		case i.op == "\x40", i.op[0] == 0xfc && strings.Contains("\x08\x0a\x0b\x0c\x0e\x0f\x11", i.op[1:]):
			want++
		}
		// global.get 1, i64.const 0, i64.lt_s, if: nothing else in the module is that.
		if got := bytes.Count(rewritten, []byte("\x23\x01\x42\x00\x53\x04\x40")); got != want {
			t.Errorf("%s: counted in %d places, want %d", i, got, want)
		}
	}
	if want := 254 + 2*0x180; len(opcodes) != want {
		t.Errorf("%d opcodes, want %d", len(opcodes), want)
	}
}
