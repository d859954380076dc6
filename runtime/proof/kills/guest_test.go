package kills_test

import (
	"encoding/binary"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// Where things are in the memory of a guest.
const (
	failureAt = 0
	toolsAt   = 256
	resultAt  = 4096
	inputAt   = 16 << 10
	roomFor   = 8 << 10 // the input, and a result

	failureText = `{"code":"down","message":"the receiver had no time"}`
	nullAt      = 200

	// A step's name has one letter, so the head of its input is as long as this.
	inputHead   = `{"step":"a"}`
	requestHead = `{"type":"json" }` // four bytes more, so that numbers of 8, 8 and 4 bytes make a frame of it
)

// guest is a module whose step calls the tools in turn, each with the step's own
// input as its request, and puts out the last answer. It fails at a call that
// was not applied. It has as little of its own as a module can have, so that
// what a process does is the engine's.
func guest(tools ...string) []byte {
	memory := make([]byte, resultAt)
	copy(memory[failureAt:], failureText)
	copy(memory[nullAt:], "null")
	frame := binary.LittleEndian.AppendUint32(nil, uint32(len(requestHead)))
	frame = append(frame, requestHead...)
	const requestAt = inputAt - (len(requestHead) - len(inputHead))

	code := i32(inputAt) + i32(roomFor) + take + wasmtest.OpDrop +
		i32(requestAt) + wasmtest.Const64(int64(binary.LittleEndian.Uint64(frame))) + "\x37\x00\x00" +
		i32(requestAt+8) + wasmtest.Const64(int64(binary.LittleEndian.Uint64(frame[8:]))) + "\x37\x00\x00" +
		i32(requestAt+16) + i32(int(int32(binary.LittleEndian.Uint32(frame[16:])))) + "\x36\x00\x00"
	at := toolsAt
	for _, tool := range tools {
		copy(memory[at:], tool)
		code += i32(at) + i32(len(tool)) + i32(requestAt) + "\x20\x00" + i32(len(requestHead)-len(inputHead)) + "\x6a" + send + "\x21\x01" +
			"\x20\x01" + wasmtest.Const64(32) + "\x88\x50\x45\x04\x40" + // if the status is not 0
			i32(int(abi.PutFailure)) + i32(failureAt) + i32(len(failureText)) + put + i32(1) + "\x0f\x0b"
		at += len(tool)
	}
	if len(tools) == 0 {
		code += i32(int(abi.PutOutput)) + i32(nullAt) + i32(len("null")) + put
	} else {
		code += i32(resultAt) + i32(roomFor) + take + wasmtest.OpDrop +
			i32(resultAt) + "\x28\x00\x00\x21\x02" +
			i32(int(abi.PutOutput)) + i32(resultAt+4) + "\x20\x02\x6a" + // behind the head
			"\x20\x01\xa7" + i32(4) + "\x6b\x20\x02\x6b" + put
	}
	p := wasmtest.Guest(code + i32(0))
	p.Functions[0].Locals, p.Data = "\x02\x01\x7e\x01\x7f", string(memory) // 1 a result, 2 the length of its head
	return p.Bytes()
}

func i32(n int) string { return wasmtest.Const(uint32(n)) }

var (
	send = wasmtest.CallTo(wasmtest.FnCall)
	take = wasmtest.CallTo(wasmtest.FnTake)
	put  = wasmtest.CallTo(wasmtest.FnPut)
)
