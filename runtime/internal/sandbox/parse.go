package sandbox

import (
	"errors"
	"fmt"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
)

// limits are what a module can be too large in for the compiler, by the fields
// of [wasm.Limits].
var limits = map[string]struct{ code, things string }{
	"Size":      {ModuleSize, "bytes"},
	"Functions": {ModuleFunctions, "functions"},
	"Entries":   {ModuleEntries, "entries in its sections besides functions"},
	"BodySize":  {ModuleBody, "bytes"},
	"Locals":    {ModuleLocals, "locals"},
	// Of branches, locals and calls, an estimate:
	"FunctionEffort": {ModuleEffort, "microseconds of compiling"},
	"Effort":         {ModuleEffort, "microseconds of compiling"},
}

// tooLargeToCompile names the limit.
func tooLargeToCompile(e *wasm.LimitError) error {
	over := limits[e.What]
	if e.Function < 0 {
		return &ModuleError{over.code, fmt.Sprintf("it has %d %s and the limit is %d; build it smaller, or split it", e.Have, over.things, e.Limit)}
	}
	return &ModuleError{over.code, fmt.Sprintf("its function %d has %d %s and the limit is %d; split the function, or build with less inlining", e.Function, e.Have, over.things, e.Limit)}
}

// parse reads a module and refuses what must not be compiled. The error is a
// *ModuleError.
func parse(bytes []byte) (*wasm.Module, error) {
	file, err := wasm.Parse(bytes, nil)
	if err != nil {
		return nil, refusal(err)
	}
	return file, checkTables(file)
}

// refusal says of an error of package wasm what its module's author can do.
func refusal(err error) error {
	var (
		limit  *wasm.LimitError
		format *wasm.FormatError
	)
	switch {
	case errors.As(err, &limit):
		return tooLargeToCompile(limit)
	case errors.As(err, &format) && format.Feature == wasm.FeatureComponents:
		return &ModuleError{ModuleComponent, "it is a WebAssembly component; Pawl runs core modules. Build it for wasm32-wasip1 (in Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared), not for wasip2"}
	case errors.As(err, &format) && format.Feature == wasm.FeatureThreads:
		return &ModuleError{ModuleThreads, err.Error() + "; build it without threads"}
	case errors.As(err, &format) && format.Feature != "":
		return &ModuleError{ModuleInvalid, err.Error() + "; build it for WebAssembly 2.0"}
	}
	return &ModuleError{ModuleInvalid, "it cannot be read: " + err.Error()}
}

// checkTables refuses tables that start too large. How far they grow is bounded
// when the module is rewritten.
func checkTables(file *wasm.Module) error {
	var entries uint64
	for _, t := range file.Tables {
		entries += uint64(t.Min)
	}
	switch {
	case len(file.Tables) > MaxTables:
		return &ModuleError{ModuleTables, fmt.Sprintf("it has %d tables and the limit is %d", len(file.Tables), MaxTables)}
	case entries > MaxTableEntries:
		return &ModuleError{ModuleTables, fmt.Sprintf("its tables start with %d entries and the limit is %d; build a module with fewer functions that are called through tables", entries, MaxTableEntries)}
	}
	return nil
}

// rewrite makes of a module what is compiled: its work is counted, and its
// tables cannot grow past MaxTableEntries.
func rewrite(file *wasm.Module) ([]byte, error) {
	counted, err := file.Instrument(wasm.Rewrite{
		ImportModule: workModule, ImportName: workImport, GlobalExport: workExport, TableEntries: MaxTableEntries,
	})
	if err != nil {
		return nil, refusal(err)
	}
	return counted, nil
}
