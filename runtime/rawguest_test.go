package runtime_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
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

	i32 := func(n int) string { return wasmtest.Const(uint32(n)) }
	p := wasmtest.Guest(i32(calls) + "\x21\x01" + // the local = calls
		wasmtest.OpLoop +
		i32(len(request)-4) + "\x20\x01\x36\x02\x00" + // the number into the body
		wasmtest.HostCall(toolAt, uint32(len(tool)), requestAt, uint32(len(request))) +
		"\x20\x01" + i32(1) + "\x6b\x22\x01\x0d\x00" + wasmtest.OpEnd + // one less; again, if not 0
		wasmtest.HostPut(abi.PutOutput, outputAt, 4) + i32(0))
	p.Data = string(memory)
	return p.Bytes()
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
