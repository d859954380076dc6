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
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/pawl-dev/pawl/steps/build"
)

func guestText(code string) string { p := wasmtest.Guest(code); return string(p.Bytes()) }

// manyData is a section of n segments without bytes.
func manyData(n int) string {
	return wasmtest.Section(11, wasmtest.Uleb(n)+strings.Repeat("\x01\x00", n))
}

func TestModulesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	good := wasmtest.Guest(wasmtest.Done)
	with := func(change func(p *wasmtest.Program)) string {
		p := wasmtest.Guest(wasmtest.Done)
		change(&p)
		return string(p.Bytes())
	}
	imports := func(module, name string, sig wasmtest.Shape) string {
		return with(func(p *wasmtest.Program) {
			p.Imports = append(p.Imports, wasmtest.Function{Module: module, Export: name, Shape: sig})
		})
	}
	rawImport := func(kind string) string {
		return with(func(p *wasmtest.Program) {
			p.RawImport, p.RawCount = wasmtest.Text("env")+wasmtest.Text("thing")+kind, 1
		})
	}
	export := func(name string, sig wasmtest.Shape, code string) string {
		return with(func(p *wasmtest.Program) {
			p.Functions = append(p.Functions, wasmtest.Function{Export: name, Shape: sig, Code: code})
		})
	}
	tables := func(tables ...string) string { return with(func(p *wasmtest.Program) { p.Tables = tables }) }
	for name, row := range map[string]struct{ wasm, code, text string }{
		"nothing":                        {"", sandbox.ModuleInvalid, "no WebAssembly module"},
		"a shell script":                 {"#!/bin/sh\necho", sandbox.ModuleInvalid, "no WebAssembly module"},
		"a component":                    {"\x00asm\x0d\x00\x01\x00", sandbox.ModuleComponent, "component"},
		"a version to come":              {"\x00asm\x02\x00\x00\x00", sandbox.ModuleInvalid, "format version"},
		"an empty module":                {wasmtest.Header, sandbox.ModuleNoStep, "pawl_step"},
		"cut off":                        {string(good.Bytes()[:60]), sandbox.ModuleInvalid, "cannot be"},
		"code that is none":              {with(func(p *wasmtest.Program) { p.Functions[0].Code = "\xff" }), sandbox.ModuleInvalid, ""},
		"another step function":          {with(func(p *wasmtest.Program) { p.Functions[0].Export = "step" }), sandbox.ModuleNoStep, "pawl_step"},
		"a command that imports pawl_v1": {with(func(p *wasmtest.Program) { p.Functions[0] = wasmtest.Function{Export: "_start"} }), sandbox.ModuleCommand, "cannot call"},
		"a command with a parameter": {with(func(p *wasmtest.Program) {
			p.Functions[0] = wasmtest.Function{Export: "_start", Shape: wasmtest.ShapeExit}
			p.Imports = nil
		}), sandbox.ModuleBadExport, "_start"},
		"a step without a parameter":     {with(func(p *wasmtest.Program) { p.Functions[0] = wasmtest.Function{Export: abi.ExportStep} }), sandbox.ModuleBadExport, "(i32) -> i32"},
		"pawl_describe of another shape": {export(abi.ExportDescribe, wasmtest.ShapeNone, ""), sandbox.ModuleBadExport, abi.ExportDescribe},
		"_initialize with a parameter":   {export("_initialize", wasmtest.ShapeExit, ""), sandbox.ModuleBadExport, "_initialize"},
		"no memory":                      {with(func(p *wasmtest.Program) { p.Memory = "" }), sandbox.ModuleNoMemory, "memory"},
		"a memory that is not exported":  {with(func(p *wasmtest.Program) { p.NoMemory = true }), sandbox.ModuleNoMemory, "memory"},
		"a shared memory":                {with(func(p *wasmtest.Program) { p.Memory = "\x01\x03\x01\x01" }), sandbox.ModuleThreads, "threads"},
		"a memory of over 4 GiB":         {with(func(p *wasmtest.Program) { p.Memory = "\x01\x00" + wasmtest.Uleb(65537) }), sandbox.ModuleMemory, "65537"},
		"a table of too many entries":    {tables(functionTable(sandbox.MaxTableEntries + 1)), sandbox.ModuleTables, "1048577"},
		"tables of too many entries":     {tables(functionTable(600_000), functionTable(600_000)), sandbox.ModuleTables, "1200000"},
		"too many tables":                {tables(slices.Repeat([]string{functionTable(0)}, 1001)...), sandbox.ModuleTables, "1001"},
		"a table with an initial value":  {tables("\x40\x00" + functionTable(1) + "\xd0\x70" + wasmtest.OpEnd), sandbox.ModuleInvalid, "which is off"},
		"a table of a type to come":      {tables("\x63\x70\x00\x01"), sandbox.ModuleInvalid, "which is off"},
		"a shared table":                 {tables("\x70\x03\x01\x01"), sandbox.ModuleThreads, "which is off"},
		"a table that ends below":        {tables("\x70\x01\x02\x01"), sandbox.ModuleInvalid, "maximum"},
		"an unknown function of ours":    {imports(abi.Module, "sleep", wasmtest.ShapeNone), sandbox.ModuleUnknownImport, `"sleep"`},
		"call with other parameters":     {imports(abi.Module, abi.FuncCall, wasmtest.ShapeTake), sandbox.ModuleUnknownImport, `"call"`},
		"an unknown function of WASI":    {imports("wasi_snapshot_preview1", "fork", wasmtest.ShapeNone), sandbox.ModuleUnknownImport, `"fork"`},
		"an unknown module":              {imports("env", "abort", wasmtest.ShapeNone), sandbox.ModuleUnknownImport, `"env"`},
		"an imported table":              {rawImport("\x01\x70\x00\x00"), sandbox.ModuleUnknownImport, "table"},
		"an imported memory": {with(func(p *wasmtest.Program) {
			p.Memory, p.RawImport, p.RawCount = "", wasmtest.Text("env")+wasmtest.Text("thing")+"\x02\x00\x01", 1
		}), sandbox.ModuleUnknownImport, "memory"},
		"two memories":               {rawImport("\x02\x00\x01"), sandbox.ModuleInvalid, "several memories"},
		"an imported shared memory":  {rawImport("\x02\x03\x01\x01"), sandbox.ModuleThreads, "threads"},
		"an imported global":         {rawImport("\x03\x7f\x00"), sandbox.ModuleUnknownImport, "global"},
		"an imported tag":            {rawImport("\x04\x00\x00"), sandbox.ModuleInvalid, "exceptions"},
		"an import of the counter's": {imports("pawl_work", "look", wasmtest.ShapeNone), sandbox.ModuleUnknownImport, `"pawl_work"`},
		"an export of the counter's": {export("pawl_work_left", wasmtest.ShapeNone, ""), sandbox.ModuleInvalid, "reserved"},
		"too many bytes":             {string(good.Bytes()) + wasmtest.Section(0, wasmtest.Text("x")+strings.Repeat("\x00", 33<<20)), sandbox.ModuleSize, "33554432"},
		"too many functions": {with(func(p *wasmtest.Program) {
			p.Functions = slices.Grow(p.Functions, 200_001)
			p.Functions = p.Functions[:200_001]
		}), sandbox.ModuleFunctions, "200001"},
		"a function of too many bytes":    {guestText(strings.Repeat("\x01", 1<<20) + wasmtest.Done), sandbox.ModuleBody, "function 3"},
		"a function of too many branches": {guestText(strings.Repeat(wasmtest.Const(0)+"\x04\x40"+wasmtest.OpEnd, 20_000) + wasmtest.Done), sandbox.ModuleEffort, "function 3"},
		"a function of too many locals":   {export("f", wasmtest.Shape{Params: strings.Repeat("\x7f", 10_000), Results: ""}, ""), sandbox.ModuleLocals, "function 4"},
		"too many entries": {with(func(p *wasmtest.Program) {
			p.Functions = nil
			p.Tables = nil
			p.RawImport, p.RawCount = "", 0
			p.Data = ""
		}) + manyData(1_000_001), sandbox.ModuleEntries, "1000020 entries"},
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
		_, err := s.Module(t.Context(), digest(nil), func() ([]byte, error) { return good.Bytes(), nil })
		if refused := new(sandbox.ModuleError); !errors.As(err, &refused) || refused.Code != sandbox.ModuleDigest {
			t.Errorf("%T: %v", err, err)
		}
	})
}

// Seen red without the remembering.
func TestModuleIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	wasm := wasmtest.Guest(wasmtest.Done).Bytes()
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
	wasm := wasmtest.Guest(wasmtest.Done).Bytes()
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
	wasm := wasmtest.Guest(wasmtest.Done).Bytes()
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
	long(t)
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
	p := wasmtest.Guest(wasmtest.Done)
	p.Functions = append(p.Functions, wasmtest.Function{Export: abi.ExportDescribe, Shape: wasmtest.ShapeStep, Code: wasmtest.OpUnreachable})
	s := open(t, nil)
	describe := func(text string) (*abi.Description, error) {
		wasm, err := build.AppendSection(p.Bytes(), abi.DescribeSection, []byte(text))
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
	plain := wasmtest.Guest(wasmtest.Done).Bytes()
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
		p := wasmtest.Guest(wasmtest.Done)
		p.Functions = append(p.Functions, wasmtest.Function{Export: abi.ExportDescribe, Shape: wasmtest.ShapeStep, Code: code})
		return load(t, s, p.Bytes()).Describe(t.Context())
	}
	trap := new(sandbox.Trap)
	if _, err := describe(wasmtest.GoodCall + wasmtest.Const(0)); !errors.As(err, &trap) || trap.Code != sandbox.TrapCallInDescribe {
		t.Errorf("call: %v", err)
	}
	if _, err := describe(wasmtest.Const(0)); !errors.As(err, &trap) || trap.Code != sandbox.TrapNoOutput {
		t.Errorf("no output: %v", err)
	}
	refused := new(sandbox.ModuleError)
	if _, err := describe(wasmtest.GoodFailure + wasmtest.Const(1)); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription {
		t.Errorf("failure: %v", err)
	}
	if _, err := describe(wasmtest.GoodOutput + wasmtest.Const(0)); !errors.As(err, &refused) || refused.Code != sandbox.ModuleBadDescription {
		t.Errorf("a string: %v", err)
	}
	d, err := load(t, s, wasmtest.Guest(wasmtest.Done).Bytes()).Describe(t.Context())
	if d != nil || err != nil {
		t.Errorf("neither: %+v, %v", d, err)
	}
}

// Seen red with the cache not emptied.
func TestDamagedCacheIsMadeAnew(t *testing.T) {
	t.Parallel()
	wasm := wasmtest.Guest(wasmtest.Done).Bytes()
	cache := filepath.Join(t.TempDir(), "with [brackets")
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
	p := wasmtest.Guest(wasmtest.GoodCall + wasmtest.Done)
	f.Add(p.Bytes())
	p.Start, p.RawImport, p.RawCount = "go", wasmtest.Text("env")+wasmtest.Text("thing")+"\x02\x00\x01", 1
	f.Add(p.Bytes())
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
	p := wasmtest.Guest(wasmtest.Done)
	p.Memory = "\x01\x00" + wasmtest.Uleb(7)
	m := load(t, open(t, nil), p.Bytes())
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
func functionTable(entries int) string { return "\x70\x00" + wasmtest.Uleb(entries) }

// Seen red with the module compiled as it came.
func TestTablesDoNotGrowOutOfBounds(t *testing.T) {
	t.Parallel()
	grow := func(table, entries uint32) string {
		return "\xd0\x70" + wasmtest.Const(entries) + "\xfc\x0f" + wasmtest.Uleb(int(table))
	}
	result := func(want uint32) string {
		return wasmtest.Const(want) + "\x47\x04\x40" + wasmtest.OpUnreachable + wasmtest.OpEnd
	} // if other: trap
	const refused = 0xffffffff
	for name, row := range map[string]struct {
		tables []string
		code   string
	}{
		"one, as far as it may":          {[]string{functionTable(1)}, grow(0, sandbox.MaxTableEntries-1) + result(1) + grow(0, 1) + result(refused)},
		"one, too far":                   {[]string{functionTable(1)}, grow(0, sandbox.MaxTableEntries) + result(refused)},
		"one with a greatest size above": {[]string{"\x70\x01\x01" + wasmtest.Uleb(1<<31)}, grow(0, sandbox.MaxTableEntries) + result(refused)},
		"one with a greatest size below": {[]string{"\x70\x01\x01\x03"}, grow(0, 3) + result(refused) + grow(0, 2) + result(1)},
		"two share what is left": {
			[]string{functionTable(sandbox.MaxTableEntries - 10), functionTable(0)},
			grow(0, 6) + result(refused) + grow(1, 6) + result(refused) + grow(0, 5) + result(sandbox.MaxTableEntries-10) + grow(1, 5) + result(0),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := wasmtest.Guest(row.code + wasmtest.Done)
			p.Tables = row.tables
			if _, err := load(t, open(t, nil), p.Bytes()).Enter(t.Context(), &newBench("s", `null`).Entry); err != nil {
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
	p := wasmtest.Guest(wasmtest.Done)
	p.Functions = append(p.Functions, wasmtest.Function{Export: abi.ExportDescribe, Shape: wasmtest.ShapeStep, Code: wasmtest.OpLoop + wasmtest.OpAgain + wasmtest.OpEnd + wasmtest.Const(0)})
	m := load(t, s, p.Bytes())
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
