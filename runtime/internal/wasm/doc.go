// Package wasm reads a core WebAssembly module, refuses what Pawl does not run,
// and rewrites it so that its work is counted. It is for the sandbox only, which
// compiles what comes out; whoever wants to run a module uses the sandbox.
//
// A module may use WebAssembly 2.0: multiple values, sign extension, saturating
// conversions, bulk memory, reference types, 128-bit vectors. Types are not
// checked here, the compiler does that. What is checked is everything that the
// rewriting rests on: where each section, function and instruction begins.
//
// [Module.Instrument] adds a counter. At each function's entry and each loop's
// head it goes down by a cost known from the module's text, before a bulk
// operation by its length too; below zero an imported function is called, from
// which the host stops the guest or grants more. So between two calls of that
// function a guest does no more than a bounded amount of work, and the count is
// the same on every machine.
package wasm
