package kills_test

import (
	"encoding/binary"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
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

	code := "\x02\x01\x7e\x01\x7f" + // locals: 1 a result, 2 the length of its head
		i32(inputAt) + i32(roomFor) + call(take) + drop +
		i32(requestAt) + i64(int64(binary.LittleEndian.Uint64(frame))) + "\x37\x00\x00" +
		i32(requestAt+8) + i64(int64(binary.LittleEndian.Uint64(frame[8:]))) + "\x37\x00\x00" +
		i32(requestAt+16) + i32(int(int32(binary.LittleEndian.Uint32(frame[16:])))) + "\x36\x00\x00"
	at := toolsAt
	for _, tool := range tools {
		copy(memory[at:], tool)
		code += i32(at) + i32(len(tool)) + i32(requestAt) + "\x20\x00" + i32(len(requestHead)-len(inputHead)) + "\x6a" + call(send) + "\x21\x01" +
			"\x20\x01" + i64(32) + "\x88\x50\x45\x04\x40" + // if the status is not 0
			i32(int(abi.PutFailure)) + i32(failureAt) + i32(len(failureText)) + call(put) + i32(1) + "\x0f\x0b"
		at += len(tool)
	}
	if len(tools) == 0 {
		code += i32(int(abi.PutOutput)) + i32(nullAt) + i32(len("null")) + call(put)
	} else {
		code += i32(resultAt) + i32(roomFor) + call(take) + drop +
			i32(resultAt) + "\x28\x00\x00\x21\x02" +
			i32(int(abi.PutOutput)) + i32(resultAt+4) + "\x20\x02\x6a" + // behind the head
			"\x20\x01\xa7" + i32(4) + "\x6b\x20\x02\x6b" + call(put)
	}
	code += i32(0) + "\x0b"
	return []byte("\x00asm\x01\x00\x00\x00" +
		section("\x01", list("\x60\x04\x7f\x7f\x7f\x7f\x01\x7e", "\x60\x02\x7f\x7f\x01\x7f", "\x60\x03\x7f\x7f\x7f\x00", "\x60\x01\x7f\x01\x7f")) +
		section("\x02", list(imported(abi.FuncCall, "\x00"), imported(abi.FuncTake, "\x01"), imported(abi.FuncPut, "\x02"))) +
		section("\x03", list("\x03")) +
		section("\x05", "\x01\x00\x01") +
		section("\x07", list(sized("memory")+"\x02\x00", sized(abi.ExportStep)+"\x00\x03")) +
		section("\x0a", list(sized(code))) +
		section("\x0b", list("\x00\x41\x00\x0b"+sized(string(memory)))))
}

// The functions of a guest's import module, in this order.
const (
	send = "\x00"
	take = "\x01"
	put  = "\x02"

	drop = "\x1a"
)

func call(function string) string { return "\x10" + function }
func i32(n int) string            { return "\x41" + signed(int64(n)) }
func i64(n int64) string          { return "\x42" + signed(n) }

// signed is a number in LEB128.
func signed(n int64) string {
	var text []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return string(append(text, b))
		}
		text = append(text, b|0x80)
	}
}

func size(n int) string     { return string(binary.AppendUvarint(nil, uint64(n))) }
func sized(s string) string { return size(len(s)) + s }

func list(items ...string) string       { return size(len(items)) + strings.Join(items, "") }
func section(id, content string) string { return id + sized(content) }
func imported(name, kind string) string { return sized(abi.Module) + sized(name) + "\x00" + kind }
