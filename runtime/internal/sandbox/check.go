package sandbox

import (
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const (
	exportMemory     = "memory" // as WASI demands
	exportInitialize = "_initialize"
	exportCommand    = "_start"
)

// shapes are the exports that are called, in the order of checking.
var shapes = []struct {
	name            string
	params, results []api.ValueType
	text            string
}{
	{abi.ExportStep, []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}, "(i32) -> i32"},
	{abi.ExportDescribe, []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}, "(i32) -> i32"},
	{exportInitialize, nil, nil, "() -> ()"},
	{exportCommand, nil, nil, "() -> ()"},
}

// checkImports refuses what the engine does not offer, before anything is
// compiled.
func checkImports(file *wasm.Module, e *engine) error {
	for _, i := range file.Imports {
		functions, known := e.offers[i.Module]
		_, offered := functions[i.Name]
		switch {
		case i.Kind == wasm.KindFunction && offered:
		case i.Kind == wasm.KindFunction && known:
			return &ModuleError{ModuleUnknownImport, fmt.Sprintf("it imports %s; %s has no such function", i, i.Module)}
		default:
			return &ModuleError{ModuleUnknownImport, fmt.Sprintf("it imports %s; a module may import functions of %s and wasi_snapshot_preview1 only", i, abi.Module)}
		}
	}
	return nil
}

// checkFunctions refuses a module that cannot be entered as package abi says,
// and as no WASI command either.
func checkFunctions(m wazero.CompiledModule, e *engine) error {
	exports := m.ExportedFunctions()
	if _, ok := exports[abi.ExportStep]; !ok && !isCommand(m) {
		return &ModuleError{ModuleNoStep, "it exports neither " + abi.ExportStep + " nor _start, so it has no steps (in Go: package steps and -buildmode=c-shared)"}
	}
	if _, ok := m.ExportedMemories()[exportMemory]; !ok {
		return &ModuleError{ModuleNoMemory, `it exports no memory named "memory"`}
	}
	for _, shape := range shapes {
		f, ok := exports[shape.name]
		if ok && !hasShape(f, shape.params, shape.results) {
			return &ModuleError{ModuleBadExport, fmt.Sprintf("its export %s is not %s", shape.name, shape.text)}
		}
	}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == workModule {
			continue // ours
		}
		if module == abi.Module && isCommand(m) {
			return &ModuleError{ModuleCommand, fmt.Sprintf("it is a WASI command (_start), which cannot call, and imports %s; to call tools, export %s instead (in Go: package steps and -buildmode=c-shared)", module, abi.ExportStep)}
		}
		if want := e.offers[module][name]; !hasShape(f, want.ParamTypes(), want.ResultTypes()) {
			return &ModuleError{ModuleUnknownImport, fmt.Sprintf("it imports function %q %q with other parameters or results than that function has", module, name)}
		}
	}
	return nil
}

func hasShape(f api.FunctionDefinition, params, results []api.ValueType) bool {
	return slices.Equal(f.ParamTypes(), params) && slices.Equal(f.ResultTypes(), results)
}

// isCommand reports whether the module is a program instead of a step module.
func isCommand(m wazero.CompiledModule) bool {
	exports := m.ExportedFunctions()
	_, step := exports[abi.ExportStep]
	_, command := exports[exportCommand]
	return command && !step
}
