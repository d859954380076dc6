package steps

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/pawl-dev/pawl/host/abi"
)

// The names are those of abi.Module, abi.FuncCall ... ; the directives take no
// constants, so a test compares the built module with them.

//go:wasmimport pawl_v1 call
func hostCall(tool string, frame unsafe.Pointer, length uint32) uint64

//go:wasmimport pawl_v1 take
func hostTake(dst unsafe.Pointer, room uint32) int32

//go:wasmimport pawl_v1 put
func hostPut(kind uint32, data unsafe.Pointer, length uint32)

//go:wasmexport pawl_step
func guestStep(inputLen uint32) uint32 {
	var o sandbox
	var head abi.InputHead
	input, err := abi.SplitFrame(take(inputLen), &head)
	if err != nil {
		o.put(abi.PutFailure, asFailure(Fail("bad_input", "the step's input: %w", err)).put())
		return 1
	}
	output, failure := run(head.Step, input, &o)
	if failure != nil {
		o.put(abi.PutFailure, failure.put())
		return 1
	}
	o.put(abi.PutOutput, output)
	return 0
}

//go:wasmexport pawl_describe
func guestDescribe(uint32) uint32 {
	text, err := encode(describe())
	if err != nil {
		panic(err)
	}
	new(sandbox).put(abi.PutOutput, text)
	return 0
}

// sandbox is the outside of a step in a guest.
type sandbox struct {
	// mu guards the pending slot between a call and its take: another
	// goroutine of the step may get its turn in between.
	mu sync.Mutex
}

func (o *sandbox) call(tool string, head abi.CallHead, body []byte) (*result, error) {
	frame, err := abi.AppendFrame(nil, head, body)
	if err != nil {
		return nil, &CallError{Tool: tool, Status: abi.Invalid, Code: "bad_request", Message: err.Error()}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	packed := hostCall(tool, unsafe.Pointer(unsafe.SliceData(frame)), uint32(len(frame)))
	runtime.KeepAlive(frame)
	r := &result{status: abi.Status(packed >> 32)}
	if r.body, err = abi.SplitFrame(take(uint32(packed)), &r.head); err != nil {
		return nil, fmt.Errorf("%s: the result: %w", tool, err)
	}
	return r, nil
}

func (o *sandbox) put(kind abi.PutKind, data []byte) {
	hostPut(uint32(kind), unsafe.Pointer(unsafe.SliceData(data)), uint32(len(data)))
	runtime.KeepAlive(data)
}

// take copies what is pending, of which length is known.
func take(length uint32) []byte {
	data := make([]byte, length)
	n := hostTake(unsafe.Pointer(unsafe.SliceData(data)), length)
	runtime.KeepAlive(data)
	if n < 0 || uint32(n) != length {
		panic(fmt.Sprintf("steps: the host announced %d bytes and handed over %d", length, n))
	}
	return data
}
