package runtime_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host/abi"
)

// rawGuest is the smallest module with a step that makes so many calls of the
// tool: it counts down, and the number is the body of the request. What is
// measured with it is not the guest.
func rawGuest(tool string, calls int) []byte {
	const requestAt, toolAt, outputAt = 0, 64, 128
	const head = `{"type":"bytes"}`
	request := string(binary.LittleEndian.AppendUint32(nil, uint32(len(head)))) + head + "\x00\x00\x00\x00"
	memory := make([]byte, outputAt+4)
	copy(memory[requestAt:], request)
	copy(memory[toolAt:], tool)
	copy(memory[outputAt:], "null")

	i32 := func(n int) string { // i32.const
		text := "\x41"
		for ; n >= 64; n >>= 7 {
			text += string([]byte{byte(n&0x7f) | 0x80})
		}
		return text + string([]byte{byte(n)})
	}
	size := func(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }
	sized := func(s string) string { return size(len(s)) + s }
	list := func(items ...string) string { return size(len(items)) + strings.Join(items, "") }
	section := func(id, content string) string { return id + sized(content) }

	code := "\x01\x01\x7f" + // one local more, an i32
		i32(calls) + "\x21\x01" + // = calls
		"\x03\x40" + // loop
		i32(len(request)-4) + "\x20\x01\x36\x02\x00" + // the number into the body
		i32(toolAt) + i32(len(tool)) + i32(requestAt) + i32(len(request)) + "\x10\x00\x1a" + // call, its result dropped
		"\x20\x01" + i32(1) + "\x6b\x22\x01\x0d\x00\x0b" + // one less; again, if not 0
		i32(int(abi.PutOutput)) + i32(outputAt) + i32(4) + "\x10\x01" + // put the output
		i32(0) + "\x0b"
	return []byte("\x00asm\x01\x00\x00\x00" +
		section("\x01", list("\x60\x04\x7f\x7f\x7f\x7f\x01\x7e", "\x60\x03\x7f\x7f\x7f\x00", "\x60\x01\x7f\x01\x7f")) +
		section("\x02", list(sized(abi.Module)+sized(abi.FuncCall)+"\x00\x00", sized(abi.Module)+sized(abi.FuncPut)+"\x00\x01")) +
		section("\x03", list("\x02")) +
		section("\x05", "\x01\x00\x01") +
		section("\x07", list(sized("memory")+"\x02\x00", sized(abi.ExportStep)+"\x00\x02")) +
		section("\x0a", list(sized(code))) +
		section("\x0b", list("\x00\x41\x00\x0b"+sized(string(memory)))))
}

// rawFolder is a workflow of one step of the raw guest.
func rawFolder(tool string, calls int) fstest.MapFS {
	return fstest.MapFS{
		"workflow.toml": {Data: fmt.Appendf(nil, `pawl = 1
[workflow]
name = "raw"
version = "1"
input = { type = "object" }
[[step]]
name = "one"
module = "raw.wasm"
tools = [%q]
`, tool)},
		"raw.wasm": {Data: rawGuest(tool, calls)},
	}
}

// The guest of the benchmarks makes the calls that they count.
func TestRawGuestMakesItsCalls(t *testing.T) {
	t.Parallel()
	var l rawLedger
	b := setup(t, l.tool("keyed"))
	c := b.rest(b.start(b.deploy(rawFolder("keyed", 300)), "r1", `{}`))
	completed(t, c)
	if len(c.Steps[0].Calls) != 300 || l.different() != 300 || string(c.Output()) != "null" {
		t.Errorf("%d calls, %d different requests, output %s", len(c.Steps[0].Calls), l.different(), c.Output())
	}
}

// digest is a module's digest, as the sandbox knows it.
func digest(wasm []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(wasm)) }
