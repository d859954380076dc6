package wasm_test

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
)

func TestParse(t *testing.T) {
	t.Parallel()
	m, err := wasm.Parse(module(append(whole(), custom("note", "first"), custom("note", "second"))...), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Types) != 1 || len(m.Functions) != 2 || m.Start != 2 {
		t.Errorf("%d types, %d functions, start %d", len(m.Types), len(m.Functions), m.Start)
	}
	if got := m.Imports[0].String(); got != `function "env" "log"` {
		t.Errorf("import %s", got)
	}
	if want := (wasm.Table{Type: wasm.Funcref, Min: 10, Max: 1<<32 - 1}); m.Tables[0] != want {
		t.Errorf("table %+v", m.Tables[0])
	}
	if m.Memories[0].Min != 1 || m.Globals[0] != (wasm.Global{Type: wasm.Funcref}) {
		t.Errorf("memory %+v, global %+v", m.Memories[0], m.Globals[0])
	}
	if m.Exports[0] != (wasm.Export{Name: "f", Kind: wasm.KindFunction, Index: 1}) {
		t.Errorf("export %+v", m.Exports[0])
	}
	if note, ok := m.Custom("note"); !ok || string(note) != "first" {
		t.Errorf("custom section %q, %v", note, ok)
	}
	if _, ok := m.Custom("nothing"); ok {
		t.Error("a custom section that is not there")
	}
}

// Each row needs what is off, and the error names it.
func TestRefusedFeatures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		module []byte
		want   wasm.Feature
	}{
		"a component":                {[]byte("\x00asm\x0d\x00\x01\x00"), wasm.FeatureComponents},
		"a shared memory":            {module(section(5, vector("\x03\x01\x02"))), wasm.FeatureThreads},
		"a shared memory, imported":  {module(section(2, vector(text("")+text("")+"\x02\x03\x01\x02"))), wasm.FeatureThreads},
		"a memory of 64 bits":        {module(section(5, vector("\x04\x01"))), wasm.FeatureMemory64},
		"two memories":               {module(section(5, vector("\x00\x01", "\x00\x01"))), wasm.FeatureMultiMemory},
		"two memories, imported":     {module(section(2, vector(text("")+text("")+"\x02\x00\x01", text("")+text("")+"\x02\x00\x01"))), wasm.FeatureMultiMemory},
		"a memory and one imported":  {module(section(2, vector(text("")+text("")+"\x02\x00\x01")), memories), wasm.FeatureMultiMemory},
		"an instruction's memory":    {oneFunction("\x00\x41\x00\x28\x42\x01\x00\x1a\x0b"), wasm.FeatureMultiMemory},
		"a memory to be filled":      {oneFunction("\x00\x00\xfc\x0b\x01\x0b"), wasm.FeatureMultiMemory},
		"a memory to be grown":       {oneFunction("\x00\x00\x40\x01\x0b"), wasm.FeatureMultiMemory},
		"data for another memory":    {module(memories, section(11, vector("\x02\x01\x41\x00\x0b\x00"))), wasm.FeatureMultiMemory},
		"tags":                       {module(section(13, vector("\x00\x00"))), wasm.FeatureExceptions},
		"an imported tag":            {module(types, section(2, vector(text("")+text("")+"\x04\x00\x00"))), wasm.FeatureExceptions},
		"an exported tag":            {module(section(7, vector(text("")+"\x04\x00"))), wasm.FeatureExceptions},
		"an exception as parameter":  {module(section(1, vector("\x60\x01\x69\x00"))), wasm.FeatureExceptions},
		"a group of types":           {module(section(1, vector("\x4e\x01\x60\x00\x00"))), wasm.FeatureGC},
		"a struct":                   {module(section(1, vector("\x5f\x00\x00"))), wasm.FeatureGC},
		"a reference to anything":    {module(section(1, vector("\x60\x01\x6e\x00"))), wasm.FeatureGC},
		"a reference to a type":      {module(section(1, vector("\x60\x01\x64\x00\x00"))), wasm.FeatureTypedRefs},
		"a table with a first value": {module(section(4, vector("\x40\x00\x70\x00\x01\xd0\x70\x0b"))), wasm.FeatureTypedRefs},
		"a block of a reference":     {oneFunction("\x00\x02\x64\x00\x0b\x0b"), wasm.FeatureTypedRefs},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasm.Parse(c.module, nil)
			var format *wasm.FormatError
			if !errors.As(err, &format) || format.Feature != c.want {
				t.Fatalf("%v, want that it needs %s", err, c.want)
			}
			if !strings.Contains(err.Error(), string(c.want)) {
				t.Errorf("%q does not name %s", err, c.want)
			}
		})
	}
}

func TestDamagedModules(t *testing.T) {
	t.Parallel()
	longest := "\xff\xff\xff\xff\x0f"
	for name, c := range map[string]struct {
		module []byte
		want   string
	}{
		"nothing":                         {nil, "no WebAssembly module"},
		"text":                            {[]byte("(module)"), "no WebAssembly module"},
		"another version":                 {[]byte("\x00asm\x02\x00\x00\x00"), "format version"},
		"an unknown section":              {module(section(14, "")), "unknown section 14"},
		"a section twice":                 {module(types, types), "repeated"},
		"sections in another order":       {module(functions, types), "names type 0; there are 0"},
		"data count behind the code":      {module(types, section(3, vector("\x00")), section(10, vector(text("\x00\x0b"))), dataCount), "stands behind"},
		"a section that is too short":     {module("\x01" + uleb(3) + "\x01\x60\x00"), "which cannot be in the bytes"},
		"a section that is too long":      {module(section(1, vector("\x60\x00\x00")+"\x00")), "longer than"},
		"more types than there are bytes": {module(section(1, longest)), "4294967295 entries"},
		"more params than bytes":          {module(section(1, vector("\x60"+longest))), "4294967295 entries"},
		"a number of 33 bits":             {module(section(1, "\xff\xff\xff\xff\x1f")), "more than 32 bits"},
		"a number of six bytes":           {module(section(1, "\x80\x80\x80\x80\x80\x00")), "more than 32 bits"},
		"an unknown type":                 {module(section(1, vector("\x60\x01\x41\x00"))), "unknown type 0x41"},
		"a name that is not UTF-8":        {module(section(7, vector(text("\xff")+"\x00\x00"))), "not UTF-8"},
		"an unknown import":               {module(section(2, vector(text("a")+text("b")+"\x05\x00"))), `imports thing of kind 5 "a" "b"`},
		"an unknown export":               {module(section(7, vector(text("a")+"\x05\x00"))), "thing of kind 5"},
		"an exported stranger":            {module(section(7, vector(text("a")+"\x00\x00"))), "function 0; there are 0"},
		"a start that is not there":       {module(section(8, "\x00")), "function 0; there are 0"},
		"a strange global":                {module(section(6, vector("\x7f\x02\x41\x00\x0b"))), "0x02"},
		"a global that is computed":       {module(section(6, vector("\x7f\x00\x41\x00\x41\x00\x6a\x0b"))), "0x6a in a constant expression"},
		"strange elements":                {module(section(9, vector("\x08\x00"))), "form 8"},
		"elements of a strange kind":      {module(section(9, vector("\x01\x01\x00"))), "kind 0x01"},
		"elements that are numbers":       {module(section(9, vector("\x05\x7f\x00"))), "0x7f where a reference"},
		"strange data":                    {module(section(11, vector("\x03\x00"))), "form 3"},
		"strange limits":                  {module(section(5, vector("\x08\x00"))), "form 0x08"},
		"functions without code":          {module(types, functions), "declares 2 functions and has the code of 0"},
		"code without functions":          {module(section(10, vector(text("\x00\x0b")))), "code of 1 functions; 0"},
		"code that has no end":            {oneFunction("\x00\x01"), "ends too early"},
		"code behind the end":             {oneFunction("\x00\x0b\x01"), "behind a function's end"},
		"an open block":                   {oneFunction("\x00\x02\x40\x0b"), "ends too early"},
		"else without if":                 {oneFunction("\x00\x02\x40\x05\x0b\x0b"), "else without an if"},
		"two elses":                       {oneFunction("\x00\x41\x00\x04\x40\x05\x05\x0b\x0b"), "else without an if"},
		"a block of no type":              {oneFunction("\x00\x02\x07\x0b\x0b"), "block of type 7"},
		"a call of nothing":               {oneFunction("\x00\x10\x01\x0b"), "function 1; there are 1"},
		"a call through no type":          {oneFunction("\x00\x11\x01\x00\x0b"), "type 1; there are 1"},
		"a select of two types":           {oneFunction("\x00\x1c\x02\x7f\x7f\x0b"), "select of 2 types"},
		"a vector opcode in three bytes":  {oneFunction("\x00\xfd\x8c\x80\x00\x0b"), "0xfd 0x8c 0x80"},
		"a bulk opcode in two bytes":      {oneFunction("\x00\x00\xfc\x8b\x00\x00\x0b"), "0xfc 0x8b 0x00"},
		"a branch to more than there is":  {oneFunction("\x00\x0e" + longest + "\x0b"), "entries"},
		"a constant without end":          {oneFunction("\x00\x41\x80\x80\x80\x80\x80\x00\x1a\x0b"), "too long"},
		"an alignment beyond all":         {oneFunction("\x00\x00\x28\x80\x01\x00\x0b"), "alignment"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasm.Parse(c.module, nil)
			var format *wasm.FormatError
			if !errors.As(err, &format) || format.Feature != "" {
				t.Fatalf("%v, want a format error", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q does not say %q", err, c.want)
			}
		})
	}
}

// A module may be cut anywhere: that is an error, never a panic.
func TestModulesThatAreCut(t *testing.T) {
	t.Parallel()
	b := module(whole()...)
	ends := []int{8}
	for _, s := range whole() {
		ends = append(ends, ends[len(ends)-1]+len(s))
	}
	for n := range len(b) {
		_, err := wasm.Parse(b[:n:n], nil)
		// Between sections a module may end, if no code is missing; how much data there is, the compiler checks.
		if complete := slices.Contains(ends, n) && (n <= ends[2] || n == ends[11]); complete != (err == nil) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

// Each row is over one limit.
func TestLimits(t *testing.T) {
	t.Parallel()
	nops := strings.Repeat("\x01", 50)
	ifs := strings.Repeat("\x41\x00\x04\x40\x0b", 50)
	for name, c := range map[string]struct {
		module []byte
		limits wasm.Limits
		want   wasm.LimitError
	}{
		"size":      {oneFunction("\x00" + nops + "\x0b"), wasm.Limits{Size: 50}, wasm.LimitError{"Size", -1, 79, 50}},
		"functions": {module(whole()...), wasm.Limits{Functions: 1}, wasm.LimitError{"Functions", -1, 2, 1}},
		"entries":   {module(whole()...), wasm.Limits{Entries: 7}, wasm.LimitError{"Entries", -1, 8, 7}},
		"custom":    {module(strings.Repeat(custom("", ""), 9)), wasm.Limits{Entries: 8}, wasm.LimitError{"Entries", -1, 9, 8}},
		"body":      {oneFunction("\x00" + nops + "\x0b"), wasm.Limits{BodySize: 51}, wasm.LimitError{"BodySize", 0, 52, 51}},
		"locals":    {oneFunction("\x01\xff\xff\xff\xff\x0f\x7f\x0b"), wasm.Limits{}, wasm.LimitError{"Locals", 0, 1<<31 - 1, 10_000}},
		"locals in groups": {
			oneFunction("\x02\xff\xff\xff\xff\x0f\x7f\xff\xff\xff\xff\x0f\x7f\x0b"),
			wasm.Limits{},
			wasm.LimitError{"Locals", 0, 1<<31 - 1, 10_000},
		},
		"a function's effort": {oneFunction("\x00" + ifs + "\x0b"), wasm.Limits{FunctionEffort: 170}, wasm.LimitError{"FunctionEffort", 0, 171, 170}},
		"the module's effort": {oneFunction("\x00" + ifs + "\x0b"), wasm.Limits{Effort: 170}, wasm.LimitError{"Effort", -1, 171, 170}},
		"successive ifs":      {oneFunction("\x00" + strings.Repeat(ifs, 400) + "\x0b"), wasm.Limits{}, wasm.LimitError{"FunctionEffort", 0, 25_006_250, 2_000_000}},
		"nested ifs": {
			oneFunction("\x00" + strings.Repeat("\x41\x00\x04\x40", 20_000) + strings.Repeat("\x0b", 20_001)),
			wasm.Limits{},
			wasm.LimitError{"FunctionEffort", 0, 25_006_250, 2_000_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wasm.Parse(c.module, &c.limits)
			var limit *wasm.LimitError
			if !errors.As(err, &limit) || *limit != c.want {
				t.Errorf("%#v, want %+v", err, c.want)
			}
		})
	}
}

// What a module claims takes no memory.
func TestClaimsTakeNoMemory(t *testing.T) {
	const claim = "\xff\xff\xff\x7f"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for id := byte(1); id < 13; id++ {
		if _, err := wasm.Parse(module(section(id, claim)), nil); id != 8 && id != 12 && err == nil {
			t.Errorf("section %d with %x entries is accepted", id, claim)
		}
	}
	if _, err := wasm.Parse(oneFunction("\x00\x0e"+claim), nil); err == nil {
		t.Error("a branch with that many targets is accepted")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated", got)
	}
}
