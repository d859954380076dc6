// Package wasmtest assembles the WebAssembly modules of tests: small ones whose
// every byte is known, and ones that no compiler would make. It is for tests
// only, and checks nothing: a program that is nonsense gives a module that is.
//
// Instructions are strings that are added up; see [Guest] for a whole step.
package wasmtest
