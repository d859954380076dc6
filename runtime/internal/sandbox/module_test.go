package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/steps/build"
)

func guestText(code string) string { p := guestProgram(code); return string(p.bytes()) }

// manyData is a section of n segments without bytes.
func manyData(n int) string { return section(11, uleb(n)+strings.Repeat("\x01\x00", n)) }

func TestModulesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	good := guestProgram(done)
	with := func(change func(p *program)) string {
		p := guestProgram(done)
		change(&p)
		return string(p.bytes())
	}
	imports := func(module, name string, sig shape) string {
		return with(func(p *program) {
			p.imports = append(p.imports, function{module: module, export: name, shape: sig})
		})
	}
	rawImport := func(kind string) string {
		return with(func(p *program) { p.rawImport, p.rawCount = text("env")+text("thing")+kind, 1 })
	}
	export := func(name string, sig shape, code string) string {
		return with(func(p *program) { p.functions = append(p.functions, function{export: name, shape: sig, code: code}) })
	}
	tables := func(tables ...string) string { return with(func(p *program) { p.tables = tables }) }
	for name, row := range map[string]struct{ wasm, code, text string }{
		"nothing":                        {"", sandbox.ModuleInvalid, "no WebAssembly module"},
		"a shell script":                 {"#!/bin/sh\necho", sandbox.ModuleInvalid, "no WebAssembly module"},
		"a component":                    {"\x00asm\x0d\x00\x01\x00", sandbox.ModuleComponent, "component"},
		"a version to come":              {"\x00asm\x02\x00\x00\x00", sandbox.ModuleInvalid, "format version"},
		"an empty module":                {header, sandbox.ModuleNoStep, "pawl_step"},
		"cut off":                        {string(good.bytes()[:60]), sandbox.ModuleInvalid, "cannot be"},
		"code that is none":              {with(func(p *program) { p.functions[0].code = "\xff" }), sandbox.ModuleInvalid, ""},
		"another step function":          {with(func(p *program) { p.functions[0].export = "step" }), sandbox.ModuleNoStep, "pawl_step"},
		"a command that imports pawl_v1": {with(func(p *program) { p.functions[0] = function{export: "_start"} }), sandbox.ModuleCommand, "cannot call"},
		"a command with a parameter":     {with(func(p *program) { p.functions[0] = function{export: "_start", shape: shapeExit}; p.imports = nil }), sandbox.ModuleBadExport, "_start"},
		"a step without a parameter":     {with(func(p *program) { p.functions[0] = function{export: abi.ExportStep} }), sandbox.ModuleBadExport, "(i32) -> i32"},
		"pawl_describe of another shape": {export(abi.ExportDescribe, shapeNone, ""), sandbox.ModuleBadExport, abi.ExportDescribe},
		"_initialize with a parameter":   {export("_initialize", shapeExit, ""), sandbox.ModuleBadExport, "_initialize"},
		"no memory":                      {with(func(p *program) { p.memory = "" }), sandbox.ModuleNoMemory, "memory"},
		"a memory that is not exported":  {with(func(p *program) { p.noMemory = true }), sandbox.ModuleNoMemory, "memory"},
		"a shared memory":                {with(func(p *program) { p.memory = "\x01\x03\x01\x01" }), sandbox.ModuleThreads, "threads"},
		"a memory of over 4 GiB":         {with(func(p *program) { p.memory = "\x01\x00" + uleb(65537) }), sandbox.ModuleMemory, "65537"},
		"a table of too many entries":    {tables(functionTable(sandbox.MaxTableEntries + 1)), sandbox.ModuleTables, "1048577"},
		"tables of too many entries":     {tables(functionTable(600_000), functionTable(600_000)), sandbox.ModuleTables, "1200000"},
		"too many tables":                {tables(slices.Repeat([]string{functionTable(0)}, 1001)...), sandbox.ModuleTables, "1001"},
		"a table with an initial value":  {tables("\x40\x00" + functionTable(1) + "\xd0\x70" + opEnd), sandbox.ModuleInvalid, "which is off"},
		"a table of a type to come":      {tables("\x63\x70\x00\x01"), sandbox.ModuleInvalid, "which is off"},
		"a shared table":                 {tables("\x70\x03\x01\x01"), sandbox.ModuleThreads, "which is off"},
		"a table that ends below":        {tables("\x70\x01\x02\x01"), sandbox.ModuleInvalid, "maximum"},
		"an unknown function of ours":    {imports(abi.Module, "sleep", shapeNone), sandbox.ModuleUnknownImport, `"sleep"`},
		"call with other parameters":     {imports(abi.Module, abi.FuncCall, shapeTake), sandbox.ModuleUnknownImport, `"call"`},
		"an unknown function of WASI":    {imports("wasi_snapshot_preview1", "fork", shapeNone), sandbox.ModuleUnknownImport, `"fork"`},
		"an unknown module":              {imports("env", "abort", shapeNone), sandbox.ModuleUnknownImport, `"env"`},
		"an imported table":              {rawImport("\x01\x70\x00\x00"), sandbox.ModuleUnknownImport, "table"},
		"an imported memory": {with(func(p *program) {
			p.memory, p.rawImport, p.rawCount = "", text("env")+text("thing")+"\x02\x00\x01", 1
		}), sandbox.ModuleUnknownImport, "memory"},
		"two memories":                    {rawImport("\x02\x00\x01"), sandbox.ModuleInvalid, "several memories"},
		"an imported shared memory":       {rawImport("\x02\x03\x01\x01"), sandbox.ModuleThreads, "threads"},
		"an imported global":              {rawImport("\x03\x7f\x00"), sandbox.ModuleUnknownImport, "global"},
		"an imported tag":                 {rawImport("\x04\x00\x00"), sandbox.ModuleInvalid, "exceptions"},
		"an import of the counter's":      {imports("pawl_work", "look", shapeNone), sandbox.ModuleUnknownImport, `"pawl_work"`},
		"an export of the counter's":      {export("pawl_work_left", shapeNone, ""), sandbox.ModuleInvalid, "reserved"},
		"too many bytes":                  {string(good.bytes()) + section(0, text("x")+strings.Repeat("\x00", 33<<20)), sandbox.ModuleSize, "33554432"},
		"too many functions":              {with(func(p *program) { p.functions = slices.Grow(p.functions, 200_001); p.functions = p.functions[:200_001] }), sandbox.ModuleFunctions, "200001"},
		"a function of too many bytes":    {guestText(strings.Repeat("\x01", 1<<20) + done), sandbox.ModuleBody, "function 3"},
		"a function of too many branches": {guestText(strings.Repeat(constant(0)+"\x04\x40"+opEnd, 20_000) + done), sandbox.ModuleEffort, "function 3"},
		"a function of too many locals":   {export("f", shape{strings.Repeat("\x7f", 10_000), ""}, ""), sandbox.ModuleLocals, "function 4"},
		"too many entries":                {with(func(p *program) { p.functions = nil; p.tables = nil; p.rawImport, p.rawCount = "", 0; p.data = "" }) + manyData(1_000_001), sandbox.ModuleEntries, "1000020 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Module(t.Context(), digest([]byte(row.wasm)), func() ([]byte, error) { return []byte(row.wasm), nil })
			var refused *sandbox.ModuleError
			if !errors.As(err, &refused) {
				t.Fatalf("%T: %v", err, err)
			}
			if refused.Code != row.code || !strings.Contains(refused.Message, row.text) {
				t.Errorf("code %s, want %s; message: %s", refused.Code, row.code, refused.Message)
			}
		})
	}
	t.Run("bytes of another digest", func(t *testing.T) {
		t.Parallel()
		_, err := s.Module(t.Context(), digest(nil), func() ([]byte, error) { return good.bytes(), nil })
		if refused := new(sandbox.ModuleError); !errors.As(err, &refused) || refused.Code != sandbox.ModuleDigest {
			t.Errorf("%T: %v", err, err)
		}
	})
}

// Seen red without the remembering.
func TestModuleIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	wasm := guestProgram(done).bytes()
	var asked atomic.Int32
	var wait sync.WaitGroup
	modules := make([]*sandbox.Module, 16)
	for i := range modules {
		wait.Go(func() {
			m, err := s.Module(t.Context(), digest(wasm), func() ([]byte, error) { asked.Add(1); return wasm, nil })
			if err != nil {
				t.Error(err)
			}
			modules[i] = m
		})
	}
	wait.Wait()
	for _, m := range modules {
		if m != modules[0] {
			t.Error("two modules of one digest")
		}
	}
	if asked.Load() != 1 {
		t.Errorf("asked for the bytes %d times", asked.Load())
	}
}

func TestFailureToReadAModuleIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	wasm := guestProgram(done).bytes()
	broken := errors.New("the disk is away")
	if _, err := s.Module(t.Context(), digest(wasm), func() ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	func() {
		defer func() { recover() }()
		s.Module(t.Context(), digest(wasm), func() ([]byte, error) { panic("a bug of the caller") })
	}()
	load(t, s, wasm)
}

func TestWaitingForACompilingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	wasm := guestProgram(done).bytes()
	reading, read, made := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := s.Module(t.Context(), digest(wasm), func() ([]byte, error) { close(reading); <-read; return wasm, nil })
		made <- err
	}()
	<-reading
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if _, err := s.Module(ctx, digest(wasm), nil); !errors.Is(err, errStopped) {
		t.Error(err)
	}
	close(read)
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// Seen red with a cache in memory in the second process.
func TestSecondProcessTakesCompiledCodeFromTheDisk(t *testing.T) {
	t.Parallel()
	if _, err := guest(); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	inChild(t, cache)
	first := files(t, cache)
	if len(first) == 0 {
		t.Fatal("the first process kept nothing")
	}
	inChild(t, cache)
	if diff := cmp.Diff(first, files(t, cache)); diff != "" {
		t.Error(diff)
	}
}

// files lists the files of a folder with size and time of writing.
func files(t *testing.T, dir string) (list []string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list = append(list, fmt.Sprintf("%s %d %s", path, info.Size(), info.ModTime()))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestDescriptionOfTheSection(t *testing.T) {
	t.Parallel()
	p := guestProgram(done)
	p.functions = append(p.functions, function{export: abi.ExportDescribe, shape: shapeStep, code: opUnreachable})
	s := open(t, nil)
	describe := func(text string) (*abi.Description, error) {
		wasm, err := build.AppendSection(p.bytes(), abi.DescribeSection, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return load(t, s, wasm).Describe(t.Context())
	}
	d, err := describe(`{"abi":1,"sdk":"x/1"}`)
	if err != nil || d.SDK != "x/1" {
		t.Errorf("%+v, %v", d, err)
	}
	_, err = describe(`{`)
	if refused := new(sandbox.ModuleError); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription {
		t.Errorf("%T: %v", err, err)
	}
}

// Seen red with the whole file given to the compiler.
func TestDescriptionCostsNoSecondCompilation(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	s := open(t, &sandbox.Options{CacheDir: cache})
	plain := guestProgram(done).bytes()
	load(t, s, plain)
	before := files(t, cache)
	wasm, err := build.AppendSection(plain, abi.DescribeSection, []byte(`{"abi":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := load(t, s, wasm).Describe(t.Context()); err != nil || d.ABI != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	if diff := cmp.Diff(before, files(t, cache)); diff != "" || len(before) == 0 {
		t.Errorf("%d files before: %s", len(before), diff)
	}
}

func TestDescribeByTheModule(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	describe := func(code string) (*abi.Description, error) {
		p := guestProgram(done)
		p.functions = append(p.functions, function{export: abi.ExportDescribe, shape: shapeStep, code: code})
		return load(t, s, p.bytes()).Describe(t.Context())
	}
	trap := new(sandbox.Trap)
	if _, err := describe(goodCall + constant(0)); !errors.As(err, &trap) || trap.Code != sandbox.TrapCallInDescribe {
		t.Errorf("call: %v", err)
	}
	if _, err := describe(constant(0)); !errors.As(err, &trap) || trap.Code != sandbox.TrapNoOutput {
		t.Errorf("no output: %v", err)
	}
	refused := new(sandbox.ModuleError)
	if _, err := describe(goodFailure + constant(1)); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription {
		t.Errorf("failure: %v", err)
	}
	if _, err := describe(goodOutput + constant(0)); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription {
		t.Errorf("a string: %v", err)
	}
	d, err := load(t, s, guestProgram(done).bytes()).Describe(t.Context())
	if d != nil || err != nil {
		t.Errorf("neither: %+v, %v", d, err)
	}
}

// Seen red with the cache not emptied.
func TestDamagedCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	wasm := guestProgram(done).bytes()
	cache := t.TempDir()
	load(t, open(t, &sandbox.Options{CacheDir: cache}), wasm)
	if err := filepath.WalkDir(cache, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte("damaged"), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, open(t, &sandbox.Options{CacheDir: cache}), wasm).Enter(t.Context(), &newBench("s", `null`).Entry); err != nil {
		t.Error(err)
	}
}

// FuzzModule gives the sandbox files that nobody checked.
func FuzzModule(f *testing.F) {
	p := guestProgram(goodCall + done)
	f.Add(p.bytes())
	p.start, p.rawImport, p.rawCount = "go", text("env")+text("thing")+"\x02\x00\x01", 1
	f.Add(p.bytes())
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	s := open(f, nil)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := s.Module(t.Context(), digest(wasm), func() ([]byte, error) { return wasm, nil })
		refused := new(sandbox.ModuleError)
		if err != nil && !errors.As(err, &refused) || err == nil && m == nil {
			t.Fatalf("%T: %v", err, err)
		}
	})
}

func TestMinMemoryPages(t *testing.T) {
	t.Parallel()
	p := guestProgram(done)
	p.memory = "\x01\x00" + uleb(7)
	m := load(t, open(t, nil), p.bytes())
	if got := m.MinMemoryPages(); got != 7 {
		t.Errorf("%d pages, want 7", got)
	}
	b := newBench("s", `null`)
	for pages, works := range map[uint32]bool{m.MinMemoryPages() - 1: false, m.MinMemoryPages(): true} {
		b.MemoryPages = pages
		if _, err := m.Enter(t.Context(), &b.Entry); (err == nil) != works {
			t.Errorf("limit of %d pages: %v", pages, err)
		}
	}
}

// functionTable is a table of functions without a greatest size.
func functionTable(entries int) string { return "\x70\x00" + uleb(entries) }

// Seen red with the module compiled as it came.
func TestTablesDoNotGrowOutOfBounds(t *testing.T) {
	t.Parallel()
	grow := func(table, entries uint32) string {
		return "\xd0\x70" + constant(entries) + "\xfc\x0f" + uleb(int(table))
	}
	result := func(want uint32) string { return constant(want) + "\x47\x04\x40" + opUnreachable + opEnd } // if other: trap
	const refused = 0xffffffff
	for name, row := range map[string]struct {
		tables []string
		code   string
	}{
		"one, as far as it may":          {[]string{functionTable(1)}, grow(0, sandbox.MaxTableEntries-1) + result(1) + grow(0, 1) + result(refused)},
		"one, too far":                   {[]string{functionTable(1)}, grow(0, sandbox.MaxTableEntries) + result(refused)},
		"one with a greatest size above": {[]string{"\x70\x01\x01" + uleb(1<<31)}, grow(0, sandbox.MaxTableEntries) + result(refused)},
		"one with a greatest size below": {[]string{"\x70\x01\x01\x03"}, grow(0, 3) + result(refused) + grow(0, 2) + result(1)},
		"two share what is left": {
			[]string{functionTable(sandbox.MaxTableEntries - 10), functionTable(0)},
			grow(0, 6) + result(refused) + grow(1, 6) + result(refused) + grow(0, 5) + result(sandbox.MaxTableEntries-10) + grow(1, 5) + result(0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := guestProgram(row.code + done)
			p.tables = row.tables
			if _, err := load(t, open(t, nil), p.bytes()).Enter(t.Context(), &newBench("s", `null`).Entry); err != nil {
				t.Error(err)
			}
		})
	}
}

// Seen red (it never ended) without the limit.
func TestDescriptionThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	s.SetDescribeLimit(50 * time.Millisecond)
	p := guestProgram(done)
	p.functions = append(p.functions, function{export: abi.ExportDescribe, shape: shapeStep, code: opLoop + opAgain + opEnd + constant(0)})
	m := load(t, s, p.bytes())
	_, err := m.Describe(t.Context())
	if refused := new(sandbox.ModuleError); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription || !strings.Contains(err.Error(), "pawl_describe did not end within 50ms") {
		t.Errorf("%T: %v", err, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if _, err := m.DescribeText(ctx); !errors.Is(err, errStopped) {
		t.Errorf("stopped by the caller: %v", err)
	}
}
