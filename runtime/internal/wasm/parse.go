package wasm

import (
	"encoding/binary"
	"math"
)

// Parse reads a module within limits; nil stands for the defaults. What the
// module claims to hold takes no memory before the bytes are there: a small
// multiple of the module's size at most. The error is a *FormatError or a
// *LimitError.
func Parse(b []byte, limits *Limits) (*Module, error) {
	if limits == nil {
		limits = &Limits{}
	}
	p := &parser{m: &Module{Start: -1, bytes: b}, limits: limits.withDefaults()}
	if err := check("Size", -1, len(b), min(p.limits.Size, math.MaxInt32)); err != nil {
		return nil, err
	}
	if err := header(b); err != nil {
		return nil, err
	}
	r := &reader{b: b, at: len(magic)}
	for !r.done() && r.err == nil {
		p.section(r)
	}
	if r.err == nil && len(p.m.bodies) != len(p.m.Functions) {
		r.fail(r.at, "declares %d functions and has the code of %d", len(p.m.Functions), len(p.m.bodies))
	}
	if r.err != nil {
		return nil, r.err
	}
	return p.m, nil
}

const magic = "\x00asm\x01\x00\x00\x00"

func header(b []byte) error {
	if len(b) < len(magic) || string(b[:4]) != magic[:4] {
		return &FormatError{Reason: "is no WebAssembly module"}
	}
	switch version := binary.LittleEndian.Uint32(b[4:]); {
	case version == 1:
		return nil
	case version>>16 == 1: // the layer
		return &FormatError{Offset: 4, Feature: FeatureComponents, Reason: "it is a component, not a core module"}
	default:
		return &FormatError{Offset: 4, Reason: "has a format version that does not exist; only 1 does"}
	}
}

// Sections.
const (
	customSection byte = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	dataCountSection
	tagSection
)

var sectionNames = [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code", "data", "data count", "tag"}

// order says where a section stands: the count of data comes before the code.
var order = [...]byte{
	typeSection: 1, importSection: 2, functionSection: 3, tableSection: 4, memorySection: 5, tagSection: 6, globalSection: 7,
	exportSection: 8, startSection: 9, elementSection: 10, dataCountSection: 11, codeSection: 12, dataSection: 13,
}

type parser struct {
	m       *Module
	limits  Limits
	last    byte // the section before, but custom ones
	entries int
	total   int // of the functions' effort
	// importTypes are the types of the imported functions.
	importTypes []uint32
}

// section reads the next section of r.
func (p *parser) section(r *reader) {
	begin := r.at
	id := r.byte()
	if int(id) >= len(sectionNames) {
		r.fail(begin, "has an unknown section %d", id)
		return
	}
	r.section = sectionNames[id]
	size := r.count(1)
	s := &reader{b: r.b[:r.at+size], at: r.at, section: r.section, err: r.err}
	switch {
	case r.err != nil:
		return
	case id == customSection:
		p.customSection(s)
	case order[id] <= order[p.last]:
		s.fail(begin, "is repeated or stands behind the %s section", sectionNames[p.last])
	default:
		p.last = id
		p.m.sections = append(p.m.sections, section{id: id, begin: r.at, end: r.at + size})
		p.content(id, s)
	}
	if !s.done() {
		s.fail(s.at, "is longer than what is in it")
	}
	r.at, r.err, r.section = r.at+size, s.err, ""
}

// content reads a section that is no custom one.
func (p *parser) content(id byte, r *reader) {
	switch id {
	case typeSection:
		p.each(r, 3, p.functionType)
	case importSection:
		p.each(r, 4, p.importEntry)
	case functionSection:
		p.functionSection(r)
	case tableSection:
		p.each(r, 3, p.table)
	case memorySection:
		p.each(r, 2, p.memory)
	case globalSection:
		p.each(r, 4, p.global)
	case exportSection:
		p.each(r, 3, p.export)
	case startSection:
		p.m.Start = int(p.functionIndex(r))
	case elementSection:
		p.each(r, 2, p.element)
	case dataCountSection:
		r.u32()
	case codeSection:
		p.codeSection(r)
	case dataSection:
		p.each(r, 2, p.data)
	case tagSection:
		r.refuse(r.at, FeatureExceptions, "it has tags")
	}
}

// each reads a vector whose entries take at least size bytes.
func (p *parser) each(r *reader, size int, entry func(*reader)) {
	n := p.counted(r, size)
	for i := 0; i < n && r.err == nil; i++ {
		entry(r)
	}
}

// counted reads the length of a vector, whose entries count towards the limit.
func (p *parser) counted(r *reader, size int) int {
	n := r.count(size)
	p.entries += n
	if r.err == nil {
		r.err = check("Entries", -1, p.entries, p.limits.Entries)
	}
	return n
}

// functions is the number of functions, imported ones counted.
func (m *Module) functions() int { return m.imported[KindFunction] + len(m.Functions) }

func (p *parser) functionType(r *reader) {
	begin := r.at
	switch form := r.byte(); {
	case form >= 0x4e && form <= 0x5f: // groups, subtypes, structs, arrays
		r.refuse(begin, FeatureGC, "it has a type of the form 0x%02x", form)
	case form != 0x60:
		r.fail(begin, "has a type of the unknown form 0x%02x", form)
	}
	p.m.Types = append(p.m.Types, FuncType{p.valueTypes(r), p.valueTypes(r)})
}

func (p *parser) valueTypes(r *reader) []byte {
	n := p.counted(r, 1)
	begin := r.at
	for i := 0; i < n && r.err == nil; i++ {
		r.valueType()
	}
	if r.err != nil {
		return nil
	}
	return r.b[begin:r.at:r.at]
}

func (p *parser) typeIndex(r *reader) uint32 {
	begin := r.at
	n := r.u32()
	if r.err == nil && int64(n) >= int64(len(p.m.Types)) {
		r.fail(begin, "names type %d; there are %d", n, len(p.m.Types))
	}
	return n
}

// functionIndex reads a function's index, which will be another when rewritten.
func (p *parser) functionIndex(r *reader) uint32 {
	begin := r.at
	n := r.u32()
	if r.err == nil && int64(n) >= int64(p.m.functions()) {
		r.fail(begin, "names function %d; there are %d", n, p.m.functions())
	}
	p.m.patches = append(p.m.patches, patch{at: uint32(begin), what: patchIndex})
	return n
}

func (p *parser) functionSection(r *reader) {
	n := r.count(1)
	if r.err == nil {
		r.err = check("Functions", -1, n, p.limits.Functions)
	}
	for i := 0; i < n && r.err == nil; i++ {
		p.m.Functions = append(p.m.Functions, p.typeIndex(r))
	}
}

func (p *parser) customSection(r *reader) {
	name := r.name()
	p.m.customs = append(p.m.customs, custom{name: name, begin: r.at, end: len(r.b)})
	p.entries++
	if r.err == nil {
		r.at, r.err = len(r.b), check("Entries", -1, p.entries, p.limits.Entries)
	}
}
