package abi

import "encoding/json"

// Version is the number of the ABI; it is part of a run's pins.
const Version = 1

// Module is the name of the import module of the host functions.
const Module = "pawl_v1"

// Names of the host functions and of the guest's exports.
const (
	FuncCall = "call" // call(tool_ptr, tool_len, req_ptr, req_len i32) -> i64: status << 32 | result_len
	FuncTake = "take" // take(dst_ptr, cap i32) -> i32: bytes copied, or -needed
	FuncPut  = "put"  // put(kind, ptr, len i32)

	ExportStep     = "pawl_step"     // pawl_step(input_len i32) -> i32: 0 done, 1 failed
	ExportDescribe = "pawl_describe" // pawl_describe(0 i32) -> i32
)

// DescribeSection is the name of the custom section into which a build copies
// what [ExportDescribe] puts out.
const DescribeSection = "pawl_describe"

// Status is what a guest is told of a call.
type Status uint32

// The statuses of a call.
const (
	OK         Status = 0
	Denied     Status = 1 // the step has no grant for the tool, or there is no such tool
	Invalid    Status = 2 // the request cannot be sent as it is
	Rejected   Status = 3 // the receiver refused for good; the effect did not happen
	NotApplied Status = 4 // not this time; the effect did not happen
	Budget     Status = 5 // the step's own limit of calls is spent
	Cancelled  Status = 6
	Deadline   Status = 7 // a read got no answer in time
	Unknown    Status = 8 // only for calls that opted in
)

// Retryable reports whether a call that ended so is made again by the next
// attempt of its step.
func (s Status) Retryable() bool { return s == NotApplied || s == Deadline }

// PutKind says what the guest hands over with put.
type PutKind uint32

// The kinds of put.
const (
	PutOutput  PutKind = 0
	PutFailure PutKind = 1
	PutDebug   PutKind = 2
	PutInfo    PutKind = 3
	PutWarn    PutKind = 4
	PutError   PutKind = 5
)

// Types of a body.
const (
	TypeJSON  = "json"
	TypeBytes = "bytes"
)

// InputHead is the head of a step's input; the body is the input itself.
type InputHead struct {
	Step string `json:"step"`
}

// CallHead is the head of a call; the body is the tool's request.
type CallHead struct {
	Type string `json:"type"` // TypeJSON or TypeBytes
	// Key is the caller's business key; empty for none.
	Key string `json:"key,omitempty"`
	// Unknown opts in to seeing the status Unknown.
	Unknown bool `json:"unknown,omitempty"`
}

// ResultHead is the head of a call's result; the body is the tool's response.
type ResultHead struct {
	Type      string `json:"type,omitempty"`
	Status    int    `json:"status,omitempty"` // of the receiver's answer, such as the HTTP status; 0 if there is none
	Code      string `json:"code,omitempty"`
	Message   string `json:"message,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	AfterMS   int64  `json:"after_ms,omitempty"` // wait at least so long before trying again
}

// Retry is what a failed step says about the next attempt.
type Retry string

// The ways to go on after a failure.
const (
	Again Retry = "again" // replay, make retryable failed calls again (the default)
	Fresh Retry = "fresh" // also forget the reads after the last write: "not ready yet"
	Never Retry = "never" // no further attempt helps
)

// Failure is what a step puts when it fails.
type Failure struct {
	Code    string          `json:"code"` // [a-z0-9_]+
	Message string          `json:"message"`
	Retry   Retry           `json:"retry,omitempty"`
	AfterMS int64           `json:"after_ms,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// Description is what a module says of itself through [ExportDescribe].
type Description struct {
	ABI   int               `json:"abi"`
	SDK   string            `json:"sdk"` // such as "go/0.1"
	Steps []StepDescription `json:"steps"`
	Tools []ToolDescription `json:"tools"`
}

// StepDescription names a step of a module; the schemas are JSON Schemas and
// may be missing.
type StepDescription struct {
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
}

// ToolDescription names a tool that a module calls.
type ToolDescription struct {
	Name     string          `json:"name"`
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}
