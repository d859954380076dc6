package sandbox

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrClosed is returned when a closed sandbox is used.
	ErrClosed = errors.New("sandbox: closed")
	// ErrTooLarge is returned when the input of an entry, or the body of a
	// reply, is larger than [MaxPayload].
	ErrTooLarge = errors.New("sandbox: larger than the payload limit")
)

// ModuleError says that a module cannot be run, for its author or whoever
// deploys it.
type ModuleError struct {
	// Code is one of the Module... codes.
	Code string
	// Message says what is wrong and what to do.
	Message string
}

func (e *ModuleError) Error() string { return "sandbox: module refused: " + e.Message }

// The codes of a [ModuleError].
const (
	ModuleInvalid        = "invalid"         // not a WebAssembly module, or one with features that are off
	ModuleComponent      = "component"       // a component instead of a core module
	ModuleThreads        = "threads"         // shared memory
	ModuleCommand        = "wasi_command"    // _start without pawl_step, and imports of pawl_v1
	ModuleNoStep         = "no_step"         // no export pawl_step, and no _start
	ModuleNoMemory       = "no_memory"       // no memory exported as "memory"
	ModuleBadExport      = "bad_export"      // a known export of another shape
	ModuleUnknownImport  = "unknown_import"  // something that the sandbox does not offer
	ModuleMemory         = "memory_limit"    // it starts with more memory than allowed
	ModuleSize           = "module_size"     // it is larger than the compiler is given
	ModuleFunctions      = "function_limit"  // it has too many functions
	ModuleEntries        = "entry_limit"     // its other sections have too many entries
	ModuleBody           = "body_limit"      // a function is too large
	ModuleLocals         = "local_limit"     // a function has too many locals
	ModuleEffort         = "effort_limit"    // a function or the module takes too long to compile
	ModuleTables         = "table_limit"     // it has more tables, or larger ones, than allowed
	ModuleDigest         = "digest"          // the bytes are not those of the digest
	ModuleBadDescription = "bad_description" // what it says of itself cannot be read
)

// Trap is the guest's own misdeed: the same entry would end so again.
type Trap struct {
	// Code is one of the Trap... codes.
	Code string
	// Message says what happened and ends with the last lines of the guest's
	// stderr, bounded.
	Message string
}

func (e *Trap) Error() string {
	return fmt.Sprintf("sandbox: guest trapped: %s: %s", e.Code, e.Message)
}

// The codes of a [Trap]. They are shown, counted and grouped by.
const (
	TrapBadPointer       = "bad_pointer"        // a range that is not inside the guest's memory
	TrapBadFrame         = "bad_frame"          // a request that is no frame, or of an unknown type
	TrapBadToolName      = "bad_tool_name"      // not [a-z0-9_.-]{1,64}
	TrapBadKind          = "bad_kind"           // put with a kind that does not exist
	TrapTooLarge         = "too_large"          // a request, output or failure over its limit
	TrapCallInitialize   = "call_in_initialize" // call before pawl_step was entered
	TrapPutInitialize    = "put_in_initialize"  // an output or failure before pawl_step was entered
	TrapCallInDescribe   = "call_in_describe"   // call while describing
	TrapSecondOutput     = "second_output"
	TrapSecondFailure    = "second_failure"
	TrapOutputAndFailure = "output_and_failure"
	TrapNoOutput         = "no_output"     // returned 0 without an output put
	TrapNoFailure        = "no_failure"    // returned 1 without a failure put
	TrapBadReturn        = "bad_return"    // returned neither 0 nor 1
	TrapBadOutput        = "bad_output"    // the output is not JSON
	TrapBadFailure       = "bad_failure"   // the failure is not what abi.Failure says
	TrapWorkLimit        = "work_limit"    // Entry.Work is spent
	TrapCallLimit        = "call_limit"    // it went on calling long after its limit of calls
	TrapOutOfMemory      = "out_of_memory" // the limit of memory pages is reached
	TrapPanic            = "panic"         // a Go or Rust panic, a fatal error of the Go runtime
	TrapExit             = "exit"          // the guest left with an exit status
	TrapUnreachable      = "unreachable"
	TrapStackOverflow    = "stack_overflow"
	TrapOutOfBounds      = "out_of_bounds"
	TrapDivideByZero     = "divide_by_zero"
	TrapOther            = "trap"
)

// Bug is ours: a Go panic inside a host function or in one of the entry's
// functions, recovered there. It is never the guest's failure.
type Bug struct {
	// Value is what was given to panic, Stack the stack of the panic.
	Value any
	Stack []byte
}

func (e *Bug) Error() string { return fmt.Sprintf("sandbox: bug in a host function: %v", e.Value) }

// errNotMade stands until a memo has its value; others see it if the making
// panicked.
var errNotMade = errors.New("sandbox: preparing a module failed")

// errDescribeSlow is the cause that ends a description which takes too long.
var errDescribeSlow = errors.New("sandbox: the time for a description is over")

// ended is the error of an entry whose context ended.
func ended(ctx context.Context) error {
	return fmt.Errorf("sandbox: guest stopped: %w", context.Cause(ctx))
}
