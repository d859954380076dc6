package build

import (
	"errors"
	"fmt"
)

// ErrNoGo is returned when there is no go command to build with.
var ErrNoGo = errors.New("build: there is no go command on the PATH: install Go (https://go.dev/dl), or ship the built .wasm file")

// ErrNotWasm is returned for bytes that are not a core WebAssembly module, or
// whose sections cannot be read.
var ErrNotWasm = errors.New("build: not a WebAssembly module that can be read")

// CompileError says that go build refused the package.
type CompileError struct {
	Dir, Package string
	// Output is what go printed.
	Output string
	// Err is how the command ended.
	Err error
}

func (e *CompileError) Error() string {
	return fmt.Sprintf("build: go build of %s in %s: %v\n%s", e.Package, e.Dir, e.Err, e.Output)
}

// Unwrap returns how the command ended.
func (e *CompileError) Unwrap() error { return e.Err }
