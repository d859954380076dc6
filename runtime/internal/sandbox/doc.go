// Package sandbox runs one step of a WebAssembly module: it compiles modules,
// enters and leaves guests, and makes what a guest sees a function of what the
// caller gave it (clock, random numbers, input, results). It is the only
// package that knows wazero, and it is for package runtime alone: it knows no
// tool, no record and no budget, and whoever embeds Pawl uses package runtime.
//
// A guest imports pawl_v1 (call, take, put; see package abi) and WASI preview
// 1, and exports its memory and pawl_step. It gets no files, no environment,
// no arguments and no network. Its stdout and stderr are log lines. A WASI
// command, which exports _start instead, reads its input on stdin and writes its
// output on stdout; it cannot call.
//
// What a guest sees besides its input and the results of its calls:
//   - Wall time starts at Entry.Start, moves one microsecond per reading, and
//     jumps to the recorded time of each completed call, never back.
//   - Monotonic time is a counter of its own, one microsecond per reading.
//   - Sleeping (poll_oneoff) advances both and returns at once.
//   - Random bytes are a ChaCha8 stream under Entry.Random(-1) while the module
//     initialises, then under Entry.Random(n) after n completed calls.
//
// What a guest computes is counted, from its instantiation on: a function's entry
// and a loop's head cost one unit, and one more for each 256 instructions that
// follow; so do each 256 bytes or 32 table entries of a bulk operation. The count
// is the same in every process, and a limit is hit at the same instruction. How
// long a unit takes is not: a nanosecond in a tight loop, a hundred elsewhere.
//
// These rules and the limits below have a number, [Semantics]: a change that a
// guest could notice raises it.
package sandbox
