package sandbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// What is added to modules in these tests.
var rewriting = wasm.Rewrite{ImportModule: "counter", ImportName: "refill", GlobalExport: "counter.left", TableEntries: 1 << 10}

// slice is what a module may do until it asks again.
const slice = 100

func rewrite(t testing.TB, module []byte) []byte {
	t.Helper()
	m, err := wasm.Parse(module, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Instrument(rewriting)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// engines are the two ways in which wazero runs a module.
func engines() map[string]wazero.RuntimeConfig {
	return map[string]wazero.RuntimeConfig{
		"compiler":    wazero.NewRuntimeConfigCompiler(),
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
	}
}

// counted is a runtime that has the counter's function.
type counted struct {
	wazero.Runtime
	granted int64
	looks   int
}

func newCounted(t testing.TB, config wazero.RuntimeConfig) *counted {
	t.Helper()
	ctx := t.Context()
	c := &counted{Runtime: wazero.NewRuntimeWithConfig(ctx, config.WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(64))}
	t.Cleanup(func() { c.Close(context.Background()) })
	refill := func(_ context.Context, m api.Module, stack []uint64) {
		left := int64(m.ExportedGlobal(rewriting.GlobalExport).Get())
		if left >= 0 {
			t.Errorf("asked with %d left", left)
		}
		c.looks++
		c.granted += slice - left // what was overdrawn is done
		stack[0] = slice
	}
	_, err := c.NewHostModuleBuilder(rewriting.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(refill), nil, []api.ValueType{api.ValueTypeI64}).
		Export(rewriting.ImportName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is all that a run of a module can be seen by.
type outcome struct {
	results []uint64
	err     string
	memory  string
	global  uint64
	count   int64
}

// run calls the export "f" of a fresh instance.
func (c *counted) run(t testing.TB, compiled wazero.CompiledModule, args ...uint64) (o outcome) {
	t.Helper()
	ctx := t.Context()
	c.granted = 0
	m, err := c.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	if o.results, err = m.ExportedFunction("f").Call(ctx, args...); err != nil {
		o.err = firstLine(err.Error())
	}
	if memory := m.ExportedMemory("memory"); memory != nil {
		b, _ := memory.Read(0, memory.Size())
		o.memory = string(b)
	}
	if g := m.ExportedGlobal("g"); g != nil {
		o.global = g.Get()
	}
	if g := m.ExportedGlobal(rewriting.GlobalExport); g != nil {
		o.count = c.granted - int64(g.Get())
	}
	return o
}

func firstLine(s string) string {
	for i := range s {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}

// String leaves the memory out, which is long.
func (o outcome) String() string {
	return fmt.Sprintf("results %v, error %q, global %d, memory %d bytes", o.results, o.err, o.global, len(o.memory))
}

func (o outcome) same(other outcome) bool {
	return o.String() == other.String() && o.memory == other.memory
}

// Both ways, under both engines: equal results, memories and globals, and a count
// that is equal everywhere. Seen red with element segments whose indices are not
// moved.
func TestGeneratedModulesBehaveTheSameRewritten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	both := make(map[string]*counted)
	for name, config := range engines() {
		both[name] = newCounted(t, config)
	}
	trapped, bulk := 0, 0
	for seed := range uint64(300) {
		g := newGenerator(seed)
		module := g.module()
		if g.bulk > 0 {
			bulk++
		}
		rewritten := rewrite(t, module)
		counts := make(map[int64]bool)
		for name, c := range both {
			plain, err := c.CompileModule(ctx, module)
			if err != nil {
				t.Fatalf("seed %d: %v\n%x", seed, err, module)
			}
			watched, err := c.CompileModule(ctx, rewritten)
			if err != nil {
				t.Fatalf("seed %d: rewritten: %v\n%x", seed, err, module)
			}
			want, got := c.run(t, plain, seed, 7), c.run(t, watched, seed, 7)
			if !got.same(want) {
				t.Errorf("seed %d, %s: %s; rewritten: %s", seed, name, want, got)
			}
			if want.err != "" {
				trapped++
			}
			if got.count <= 0 {
				t.Errorf("seed %d, %s: a count of %d", seed, name, got.count)
			}
			counts[got.count] = true
			if seed%30 == 0 {
				for range 20 {
					counts[c.run(t, watched, seed, 7).count] = true
				}
			}
			plain.Close(ctx)
			watched.Close(ctx)
		}
		if len(counts) != 1 {
			t.Errorf("seed %d: counts %v", seed, counts)
		}
	}
	// A generator that makes only trapping or only tame modules shows nothing.
	if trapped == 0 || trapped > 400 || bulk < 50 {
		t.Errorf("of 600 runs %d trapped; %d of 300 modules had bulk operations", trapped, bulk)
	}
}

// The counts that a reader of the module would expect. Seen red with each of:
// loops' heads not counted, memory.fill not seen, long code at the price of short.
func TestCounts(t *testing.T) {
	t.Parallel()
	// loop: local 0 goes down by 1 until it is 0.
	down := func(body string) string {
		return "\x03\x40" + body + "\x20\x00\x41\x01\x6b\x22\x00\x0d\x00\x0b"
	}
	nops := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 1
		}
		return string(b)
	}
	fill := func(n uint32) string {
		return wasmtest.Const(0) + wasmtest.Const(7) + wasmtest.Const(n) + "\xfc\x0b\x00"
	}
	copied := func(n uint32) string {
		return wasmtest.Const(0) + wasmtest.Const(9) + wasmtest.Const(n) + "\xfc\x0a\x00\x00"
	}
	grow := func(n uint32) string { return wasmtest.Const(n) + "\x40\x00\x1a" }
	growTable := func(n uint32) string { return "\xd0\x70" + wasmtest.Const(n) + "\xfc\x0f\x00\x1a" }
	fillTable := func(n uint32) string { return wasmtest.Const(0) + "\xd0\x70" + wasmtest.Const(n) + "\xfc\x11\x00" }
	for name, c := range map[string]struct {
		code string
		want int64
	}{
		"an empty function":              {"", 1},
		"ten times a loop":               {down(""), 1 + 10},
		"a call":                         {wasmtest.CallTo(1), 2},
		"a long function":                {nops(1023), 1 + 4},
		"just not longer":                {nops(254), 1},
		"a long loop":                    {down(nops(512)), 1 + 10*3},
		"a long loop in a loop":          {down("\x03\x40" + nops(512) + "\x0b"), 1 + 10 + 10*3},
		"a long block is the function's": {"\x02\x40" + nops(512) + "\x0b", 3},
		"a branch not taken is paid for": {wasmtest.Const(0) + "\x04\x40" + nops(512) + "\x0b", 3},
		"fill nothing":                   {fill(0), 1 + 1},
		"fill a page":                    {fill(65536), 1 + 1 + 256},
		"copy":                           {copied(1000), 1 + 1 + 3},
		"grow":                           {grow(2), 1 + 1 + 512},
		"grow too far":                   {grow(1 << 31), 1 + 1 + 65536*256},
		"grow a table":                   {growTable(64), 1 + 1 + 2},
		"grow a table too far":           {growTable(1 << 31), 1 + 1 + 1024/32},
		"fill a table":                   {growTable(100) + fillTable(96), 1 + 1 + 3 + 1 + 3},
		"code that is never reached":     {"\x02\x40\x0c\x00" + fill(512) + "\x00" + down("") + "\x0b", 1},
		"a trap":                         {fill(65537), 1 + 1 + 256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wasmtest.Program{
				Functions: []wasmtest.Function{{Export: "f", Shape: wasmtest.Shape{Params: "\x7f", Results: ""}, Code: c.code}, {Shape: wasmtest.ShapeNone}},
				Memory:    "\x01\x00\x01",
				Tables:    []string{"\x70\x00\x01"},
			}
			for engine, config := range engines() {
				r := newCounted(t, config)
				compiled, err := r.CompileModule(t.Context(), rewrite(t, p.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				if got := r.run(t, compiled, 10); got.count != c.want {
					t.Errorf("%s: %d, want %d (%s)", engine, got.count, c.want, got)
				}
			}
		})
	}
}

// A start function runs before anybody can call, and is counted too.
func TestStartFunctionIsCounted(t *testing.T) {
	t.Parallel()
	p := wasmtest.Program{
		Functions: []wasmtest.Function{{Export: "f", Shape: wasmtest.ShapeNone}, {Export: "start", Shape: wasmtest.ShapeNone, Code: "\x41\x0a\x21\x00\x03\x40\x20\x00\x41\x01\x6b\x22\x00\x0d\x00\x0b"}},
		Start:     "start",
	}
	r := newCounted(t, wazero.NewRuntimeConfigInterpreter())
	compiled, err := r.CompileModule(t.Context(), rewrite(t, p.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.run(t, compiled); got.count != 1+10+1 {
		t.Errorf("a count of %d", got.count)
	}
}

// Tables have a greatest size, so that growing ends. Seen red without it.
func TestTablesCannotGrowFurther(t *testing.T) {
	t.Parallel()
	grow := "\x03\x40\xd0\x70" + wasmtest.Const(1) + "\xfc\x0f\x00" + wasmtest.Const(0xffffffff) + "\x47\x0d\x00\x0b\xfc\x10\x00"
	p := wasmtest.Program{
		Functions: []wasmtest.Function{{Export: "f", Shape: wasmtest.Shape{Params: "", Results: "\x7f"}, Code: grow}},
		Tables:    []string{"\x70\x00\x01", "\x6f\x00\x03"},
	}
	for engine, config := range engines() {
		r := newCounted(t, config)
		compiled, err := r.CompileModule(t.Context(), rewrite(t, p.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.run(t, compiled); len(got.results) != 1 || got.results[0] != 1+(1024-4)/2 {
			t.Errorf("%s: %s", engine, got)
		}
	}
}

// Whatever wazero compiles and the rewriter accepts, wazero compiles rewritten;
// and both see the same instructions.
func FuzzRewrittenModuleCompiles(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(newGenerator(seed).module())
	}
	f.Add(wasmtest.Guest(wasmtest.Done).Bytes())
	for _, s := range specification() {
		if s.feature == "" && s.op[0]%16 == 0 {
			f.Add(s.module())
		}
	}
	f.Fuzz(func(t *testing.T, module []byte) {
		m, err := wasm.Parse(module, &wasm.Limits{Size: 1 << 16, FunctionEffort: 100_000, Effort: 100_000, Locals: 1000})
		if err != nil {
			return
		}
		rewritten, err := m.Instrument(rewriting)
		if err != nil {
			return
		}
		ctx := t.Context()
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
		defer r.Close(ctx)
		if _, err := r.CompileModule(ctx, module); err != nil {
			return
		}
		if _, err := r.CompileModule(ctx, rewritten); err != nil {
			t.Errorf("compiles, but rewritten: %v", err)
		}
	})
}
