package power_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// folder is the flow as a workflow: one small module of core Wasm that does
// what its steps do. No compiler takes part, so that it is there in no time.
func (f *Flow) folder(flow int) fstest.MapFS {
	recoveries := f.Recoveries
	if recoveries == 0 {
		recoveries = 1000
	}
	var s strings.Builder
	fmt.Fprintf(&s, "pawl = 1\n[workflow]\nname = \"flow%d\"\nversion = \"1\"\ninput = { type = \"object\" }\n", flow)
	fmt.Fprintf(&s, "[budget]\nrecoveries = %d\nunits = { tokens = 1000000 }\n", recoveries)
	for i := range f.Steps {
		fmt.Fprintf(&s, "[[step]]\nname = %q\nmodule = \"flow.wasm\"\ntools = [%s]\n", stepName(flow, i), `"`+strings.Join(toolNames(), `", "`)+`"`)
		fmt.Fprintf(&s, "retry = { attempts = %d, backoff = \"1s\", max_backoff = \"4s\" }\n", mostAttempts)
	}
	return fstest.MapFS{"workflow.toml": {Data: []byte(s.String())}, "flow.wasm": {Data: f.module()}}
}

// mostAttempts is how many attempts a step has.
const mostAttempts = 4

// stepName says which step of which flow it is, so that a receiver knows.
func stepName(flow, step int) string { return fmt.Sprintf("s%d%d", flow, step) }

// Indices of the functions, and where things are in the memory of two pages.
const (
	fnCall, fnTake, fnPut, fnAppend = "\x00", "\x01", "\x02", "\x03"

	resultAt, resultSize = 32 << 10, 32 << 10
	outputAt             = 64 << 10
)

// writer writes the code of a module, and what that needs in memory.
type writer struct{ memory []byte }

// at puts text into the memory and returns where it is.
func (w *writer) at(text string) int {
	at := len(w.memory)
	w.memory = append(w.memory, text...)
	return at
}

// module is the Wasm module of all steps. Its output is a JSON array: for each
// call the status and the body of the answer.
func (f *Flow) module() []byte {
	w := &writer{}
	code := num(resultAt) + num(resultSize) + "\x10" + fnTake + "\x1a" + // the input
		num(outputAt) + num('[') + "\x3a\x00\x00" + num(outputAt+1) + "\x21\x01" // out = "["
	digit := len(`{"step":"s0`) + 4
	for i := range f.Steps {
		code += num(resultAt) + "\x2d\x00" + wasmtest.Uleb(digit) + num('0'+i) + "\x46\x04\x40" + // if it is this step
			w.ops(f.Steps[i].Ops) + w.done() + "\x0b"
	}
	code += "\x00"
	p := wasmtest.Guest("")
	p.Functions = []wasmtest.Function{
		{Shape: wasmtest.Shape{Params: "\x7e\x7f", Results: "\x7f"}, Locals: "\x01\x02\x7f", Code: appendCode},
		{Export: abi.ExportStep, Shape: wasmtest.ShapeStep, Locals: "\x02\x01\x7f\x01\x7e", Code: code},
	}
	p.Memory, p.Data = "\x01\x00\x02", string(w.memory)
	return p.Bytes()
}

// appendCode is append(result i64, out i32) -> i32: it writes the status and
// the body of a call's answer, and returns the end of that. Locals: 2 the
// length of the head and what comes before the body, 3 that of the body.
var appendCode = "\x20\x01\x20\x00\x42\x20\x88\xa7" + num('0') + "\x6a\x3a\x00\x00" + // the digit
	"\x20\x01" + num(',') + "\x3a\x00\x01" +
	"\x20\x01" + num(2) + "\x6a\x21\x01" +
	num(resultAt) + num(resultSize) + "\x10" + fnTake + "\x1a" +
	num(resultAt) + "\x28\x02\x00" + num(4) + "\x6a\x22\x02" + "\x1a" +
	"\x20\x00\xa7\x20\x02\x6b\x21\x03" +
	"\x20\x03" + num(0) + "\x4a\x04\x40" + // if there is a body
	"\x20\x01" + num(resultAt) + "\x20\x02\x6a\x20\x03\xfc\x0a\x00\x00" + // copy it
	"\x20\x01\x20\x03\x6a\x21\x01" +
	"\x05" +
	"\x20\x01" + num('0') + "\x3a\x00\x00\x20\x01" + num(1) + "\x6a\x21\x01" +
	"\x0b" +
	"\x20\x01" + num(',') + "\x3a\x00\x00\x20\x01" + num(1) + "\x6a"

// ops is the code of calls. Local 1 is the end of the output, 2 the result of
// the last call.
func (w *writer) ops(ops []Op) (code string) {
	for i := range ops {
		op := &ops[i]
		frame, _ := abi.AppendFrame(nil, abi.CallHead{Type: abi.TypeJSON, Key: op.Key, Unknown: op.Unknown}, op.body())
		code += num(w.at(op.Tool)) + num(len(op.Tool)) + num(w.at(string(frame))) + num(len(frame)) + "\x10" + fnCall + "\x21\x02"
		if op.Unknown {
			continue // what it is told must not matter
		}
		code += "\x20\x02\x20\x01\x10" + fnAppend + "\x21\x01"
		if len(op.Else) == 0 && op.Fail == "" {
			continue
		}
		code += "\x20\x02\x42\x20\x88\xa7\x04\x40" + w.ops(op.Else) // if it did not work
		switch op.Fail {
		case "":
		case "skip":
			code += w.done()
		default:
			failure, _ := json.Marshal(abi.Failure{Code: "stop", Message: "m", Retry: abi.Retry(op.Fail), AfterMS: seconds(op.After).Milliseconds()})
			code += num(int(abi.PutFailure)) + num(w.at(string(failure))) + num(len(failure)) + "\x10" + fnPut + num(1) + "\x0f"
		}
		code += "\x0b"
	}
	return code
}

// body is the request of a call.
func (op *Op) body() []byte {
	switch op.Tool {
	case "kv.put":
		return fmt.Appendf(nil, `{"key":"k","value":%d}`, op.N)
	case "kv.get", "kv.delete":
		return []byte(`{"key":"k"}`)
	}
	return fmt.Appendf(nil, `{"n":%d}`, op.N)
}

// done ends the step well.
func (w *writer) done() string {
	return "\x20\x01" + num('0') + "\x3a\x00\x00\x20\x01" + num(']') + "\x3a\x00\x01" +
		num(int(abi.PutOutput)) + num(outputAt) + "\x20\x01" + num(outputAt-2) + "\x6b\x10" + fnPut +
		num(0) + "\x0f"
}

func num(n int) string { return wasmtest.Const(uint32(n)) }
