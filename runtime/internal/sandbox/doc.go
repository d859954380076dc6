// Package sandbox runs one step of a WebAssembly module: it compiles modules,
// enters and leaves guests, and makes what a guest sees a function of what the
// caller gave it (clock, random numbers, input, results). It is the only
// package that knows wazero, and it is for package runtime alone: it knows no
// tool, no record and no budget, and whoever embeds Pawl uses package runtime.
//
// A guest imports pawl_v1 (call, take, put; see package abi) and WASI preview
// 1, and exports its memory and pawl_step. It gets no files, no environment,
// no arguments and no network. Its stdout and stderr are log lines.
//
// What a guest sees besides its input and the results of its calls:
//   - Wall time starts at Entry.Start, moves one microsecond per reading, and
//     jumps to the recorded time of each completed call, never back.
//   - Monotonic time is a counter of its own, one microsecond per reading.
//   - Sleeping (poll_oneoff) advances both and returns at once.
//   - Random bytes are a ChaCha8 stream under Entry.Random(-1) while the module
//     initialises, then under Entry.Random(n) after n completed calls.
//
// These rules and the limits below have a number, [Semantics]: a change that a
// guest could notice raises it.
package sandbox
