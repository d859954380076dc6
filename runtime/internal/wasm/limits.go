package wasm

import "cmp"

// Limits bound what a module may cost to compile. A field that is 0 has its
// default.
type Limits struct {
	// Size of the module, in bytes. Defaults to 32 MiB.
	Size int
	// Functions of the module itself. Defaults to 200,000.
	Functions int
	// Entries of all other sections together: types, imports, globals, exports,
	// segments and what is in them. Defaults to 1,000,000.
	Entries int
	// BodySize of a function, in bytes. Defaults to 1 MiB.
	BodySize int
	// Locals of a function, parameters counted. Defaults to 10,000.
	Locals int
	// FunctionEffort is how long a function takes to compile, estimated from its
	// branches, locals and calls, in microseconds of a slow machine. Defaults to
	// 2,000,000.
	FunctionEffort int
	// Effort is the same of the whole module. Defaults to 10,000,000.
	Effort int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Size:           cmp.Or(l.Size, 32<<20),
		Functions:      cmp.Or(l.Functions, 200_000),
		Entries:        cmp.Or(l.Entries, 1_000_000),
		BodySize:       cmp.Or(l.BodySize, 1<<20),
		Locals:         cmp.Or(l.Locals, 10_000),
		FunctionEffort: cmp.Or(l.FunctionEffort, 2_000_000),
		Effort:         cmp.Or(l.Effort, 10_000_000),
	}
}

// check returns a *LimitError if have is over the limit.
func check(what string, function, have, limit int) error {
	if have <= limit {
		return nil
	}
	return &LimitError{What: what, Function: function, Have: have, Limit: limit}
}
