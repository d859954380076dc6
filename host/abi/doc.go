// Package abi is what both sides of the sandbox share: the numbers, names and
// payload shapes of the pawl_v1 import module. It is for the runtime and for
// guest SDKs, and depends on the standard library alone; authors of steps in Go
// use package steps instead.
//
// # A step in another language
//
// A module imports what it uses of pawl_v1 (see [FuncCall]) and WASI preview 1,
// and exports its memory and pawl_step. Sizes are in bytes; numbers are little
// endian. Inputs, calls and their results are frames: the length of a head as a
// u32, the head, which is JSON, and the body. pawl_step gets the size of a frame
// with an [InputHead], copies it with take, puts its output or its [Failure], and
// returns 0 or 1. call answers with a [Status] in the upper half and in the lower
// half the size of a frame with a [ResultHead], which take copies. In C:
//
//	#include <stdint.h>
//	#include <stdlib.h>
//	#include <string.h>
//	#define IMPORT(name) __attribute__((import_module("pawl_v1"), import_name(#name)))
//	IMPORT(take) int32_t take(char *to, uint32_t cap);
//	IMPORT(put) void put(uint32_t kind, const char *from, uint32_t len);
//
//	// Its output is its input.
//	__attribute__((export_name("pawl_step"))) int32_t step(int32_t len) {
//		char *frame = malloc(len);
//		uint32_t head;
//		take(frame, len);
//		memcpy(&head, frame, 4);
//		put(0, frame + 4 + head, len - 4 - head);
//		return 0;
//	}
//
// It is built as a library, not as a command, into the workflow's folder under
// the name that workflow.toml says; pawl build leaves it as it is:
//
//	clang --target=wasm32-wasi -mexec-model=reactor -O2 -o step.wasm step.c
//	rustc --target wasm32-wasi --crate-type cdylib -O -o step.wasm step.rs
//
// A module may say what its steps and tools are: pawl_describe puts out a
// [Description]. A program that exports _start instead of pawl_step is a step
// too, which reads its input on standard input, writes its output on standard
// output, and cannot call.
package abi
