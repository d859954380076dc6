package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// wasmFile is what must be known of a module before it is compiled: what wazero
// would refuse with a text that does not help the module's author, or not list.
type wasmFile struct {
	imports     []wasmImport
	shared      bool   // a memory is shared between threads
	minPages    uint32 // the memory at the start
	description []byte // the custom section; nil if there is none
	// code is what is compiled: the module without that section, since what a
	// build appends says nothing to the compiler and must not cost a second
	// compilation, and with tables that cannot grow out of bounds.
	code []byte

	tableEntries uint64 // of all tables at the start
}

type wasmImport struct {
	module, name string
	kind         byte
}

const kindFunction = 0

var kindNames = [...]string{kindFunction: "function", 1: "table", 2: "memory", 3: "global", 4: "tag"}

func (i wasmImport) String() string {
	kind := "thing"
	if int(i.kind) < len(kindNames) {
		kind = kindNames[i.kind]
	}
	return fmt.Sprintf("%s %q %q", kind, i.module, i.name)
}

// Sections of a module that are read here.
const (
	sectionCustom = 0
	sectionImport = 2
	sectionTable  = 4
	sectionMemory = 5
)

var errShort = errors.New("it ends too early or a number in it is too large")

// parseWasm reads the sections of a core module. The error is a *ModuleError.
func parseWasm(wasm []byte, descriptionSection string) (*wasmFile, error) {
	if len(wasm) < 8 || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
		return nil, &ModuleError{ModuleInvalid, "it is not a WebAssembly module"}
	}
	switch version := binary.LittleEndian.Uint32(wasm[4:]); {
	case version == 1:
	case version>>16 == 1: // the layer field of the component model
		return nil, &ModuleError{ModuleComponent, "it is a WebAssembly component; Pawl runs core modules. Build it for wasm32-wasip1 (in Go: GOOS=wasip1 GOARCH=wasm -buildmode=c-shared), not for wasip2"}
	default:
		return nil, &ModuleError{ModuleInvalid, fmt.Sprintf("its format version is %d; only 1 exists", version)}
	}
	f := &wasmFile{code: wasm}
	rewritten := false
	for r := (reader{rest: wasm[8:]}); len(r.rest) > 0; {
		begin, described := len(wasm)-len(r.rest), f.description != nil
		id := r.byte()
		content := r.bytes()
		if r.bad {
			return nil, &ModuleError{ModuleInvalid, "its sections cannot be read: " + errShort.Error()}
		}
		raw := wasm[begin : len(wasm)-len(r.rest)]
		code, err := f.section(id, raw, content, descriptionSection)
		if err != nil {
			return nil, err
		}
		if f.description != nil && !described {
			code = nil
		}
		if !rewritten && !bytes.Equal(code, raw) {
			f.code, rewritten = slices.Clone(wasm[:begin]), true
		}
		if rewritten {
			f.code = append(f.code, code...)
		}
	}
	return f, nil
}

// section reads a section and returns what is compiled in its place, raw itself
// for most. The error is a *ModuleError.
func (f *wasmFile) section(id byte, raw, content []byte, descriptionSection string) (code []byte, err error) {
	r := &reader{rest: content}
	code = raw
	switch id {
	case sectionCustom:
		if name := r.bytes(); string(name) == descriptionSection && f.description == nil {
			f.description = slices.Clone(r.rest) // the bytes around it may go
		}
	case sectionImport:
		for n := r.uint(); n > 0 && !r.bad; n-- {
			if !f.importEntry(r) {
				return code, nil
			}
		}
	case sectionTable:
		code, err = f.tableSection(r)
	case sectionMemory:
		for n := r.uint(); n > 0 && !r.bad; n-- {
			f.memory(r)
		}
	}
	if r.bad {
		err = &ModuleError{ModuleInvalid, fmt.Sprintf("its section %d cannot be read: %v", id, errShort)}
	}
	return code, err
}

// importEntry reports whether it knows the import's kind. What follows an
// unknown one cannot be read, and need not be: the module is refused for it.
func (f *wasmFile) importEntry(r *reader) bool {
	i := wasmImport{module: string(r.bytes()), name: string(r.bytes()), kind: r.byte()}
	f.imports = append(f.imports, i)
	switch i.kind {
	case kindFunction:
		r.uint()
	case 1:
		r.byte()
		r.limits() // a module that imports a table is refused
	case 2:
		f.memory(r)
	case 3:
		r.byte()
		r.byte()
	default:
		return false
	}
	return true
}

func (f *wasmFile) memory(r *reader) {
	flags, lowest, _ := r.limits()
	f.shared = f.shared || flags&2 != 0
	f.minPages = max(f.minPages, lowest)
}

// reader takes apart bytes; once bad, it stays so and gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// uint reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) uint() uint32 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 5 || n > 1<<32-1 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return uint32(n)
}

// bytes reads a length and that many bytes.
func (r *reader) bytes() []byte {
	n := r.uint()
	if uint64(n) > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// limits reads a least and a greatest size; the latter is the largest number if
// there is none.
func (r *reader) limits() (flags byte, lowest, highest uint32) {
	flags = r.byte()
	lowest, highest = r.uint(), math.MaxUint32
	if flags&1 != 0 {
		highest = r.uint()
	}
	return flags, lowest, highest
}
