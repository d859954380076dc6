package wasm

import "fmt"

// Module is a module that was read. It aliases the bytes it was read from, which
// must not change; then its methods may be used concurrently.
type Module struct {
	Types   []FuncType
	Imports []Import
	// Functions are the types of the functions defined here; their indices come
	// behind those of the imported ones.
	Functions []uint32
	// Tables, Memories and Globals are those defined here.
	Tables   []Table
	Memories []Memory
	Globals  []Global
	Exports  []Export
	// Start is the index of the start function, -1 if there is none.
	Start int

	bytes    []byte
	sections []section
	customs  []custom
	bodies   []body
	patches  []patch
	// imported counts the imports of a kind, whose indices come first.
	imported [kinds]int
}

// Kind is what an import or an export is.
type Kind byte

// Kinds.
const (
	KindFunction Kind = iota
	KindTable
	KindMemory
	KindGlobal
	kinds
)

func (k Kind) String() string {
	names := [...]string{KindFunction: "function", KindTable: "table", KindMemory: "memory", KindGlobal: "global"}
	if k < kinds {
		return names[k]
	}
	return fmt.Sprintf("thing of kind %d", byte(k))
}

// ValueType is the type of a value, as it is encoded.
type ValueType byte

// Types of values.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	Funcref   ValueType = 0x70
	Externref ValueType = 0x6f
)

// FuncType is the type of a function. The slices alias the module's bytes; each
// byte is a [ValueType].
type FuncType struct{ Params, Results []byte }

// Import is a thing that the module needs from outside.
type Import struct {
	Module, Name string
	Kind         Kind
	// Type is a function's, as an index of Types.
	Type uint32
	// Min is what a memory (in pages of 64 KiB) or a table (in entries) must at
	// least have.
	Min uint32
}

func (i Import) String() string { return fmt.Sprintf("%s %q %q", i.Kind, i.Module, i.Name) }

// Table is a table defined by the module, in entries.
type Table struct {
	Type     ValueType
	Min, Max uint32 // Max is 1<<32-1 if there is none
}

// Memory is a memory defined by the module, in pages of 64 KiB.
type Memory struct{ Min, Max uint32 } // Max is 1<<32-1 if there is none

// Global is a global defined by the module.
type Global struct {
	Type    ValueType
	Mutable bool
}

// Export is a thing that the module gives.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Custom returns the content of the first custom section of the name.
func (m *Module) Custom(name string) (content []byte, ok bool) {
	for _, c := range m.customs {
		if c.name == name {
			return m.bytes[c.begin:c.end], true
		}
	}
	return nil, false
}

// section is a section of the module but custom ones: where its content is.
type section struct {
	id         byte
	begin, end int
}

type custom struct {
	name       string
	begin, end int // of the content behind the name
}

// body is the code of a function defined here: offsets of the count of groups of
// locals, of the first instruction, of what follows the function.
type body struct {
	locals, code, end uint32
	nextLocal         uint32 // the index that an added local has
	patches           uint32 // the index of its first patch
	bulk              bool   // it has a bulk operation
}

// patch is a place where the rewritten module differs, in the order of offsets.
type patch struct {
	at   uint32
	what patchKind
	cost uint32 // of a head
}

type patchKind byte

const (
	// patchIndex: a function's index is here.
	patchIndex patchKind = iota
	// patchHead: work is counted here, at a function's entry or a loop's head.
	patchHead
	// patchBytes, patchEntries, patchGrowBytes, patchGrowEntries: a bulk
	// operation begins here.
	patchBytes
	patchEntries
	patchGrowBytes
	patchGrowEntries
)
