package runtimetest

// manifest is the workflow's file.
const manifest = `pawl = 1
[workflow]
name = "orders"
version = "1.0.0"
title = "Order {input.order}"
labels = { order = "{input.order}" }
input = { type = "object", required = ["order"], properties = { order = { type = "string" } } }
[budget]
attempts = 3
[[step]]
name = "ship"
module = "orders.wasm"
`

// module is a step that does nothing:
//
//	(module
//	  (import "pawl_v1" "put" (func (param i32 i32 i32)))
//	  (memory (export "memory") 1)
//	  (data (i32.const 0) "null")
//	  (func (export "pawl_step") (param i32) (result i32)
//	    (call 0 (i32.const 0) (i32.const 0) (i32.const 4))
//	    (i32.const 0)))
const module = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0c\x02\x60\x03\x7f\x7f\x7f\x00\x60\x01\x7f\x01\x7f" +
	"\x02\x0f\x01\x07pawl_v1\x03put\x00\x00" +
	"\x03\x02\x01\x01" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x16\x02\x06memory\x02\x00\x09pawl_step\x00\x01" +
	"\x0a\x0e\x01\x0c\x00\x41\x00\x41\x00\x41\x04\x10\x00\x41\x00\x0b" +
	"\x0b\x0a\x01\x00\x41\x00\x0b\x04null"
