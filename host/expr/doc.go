// Package expr evaluates the expressions of workflow.toml and tools.toml: CEL
// over JSON values, with equal results on every machine. It is for the readers
// of those files and for HTTP tools; authors of steps and embedders do not need
// it. It is the only importer of cel-go.
//
// An expression sees JSON as [Decode] gives it: integers stay integers. It has
// the standard functions and macros of CEL except those that depend on the
// machine: there is no clock and no time zone database, and maps are walked in
// the order of their keys. What an expression may cost is bounded.
package expr
