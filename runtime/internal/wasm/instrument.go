package wasm

import (
	"encoding/binary"
	"fmt"
)

// Rewrite says what [Module.Instrument] adds. All fields are needed.
type Rewrite struct {
	// ImportModule and ImportName are the function that is called when the
	// counter is below zero. It takes nothing and returns the counter's next
	// value, an i64; or it does not return. No import of the guest may be of
	// ImportModule.
	ImportModule, ImportName string
	// GlobalExport is the name under which the counter, a mutable i64 that
	// begins at 0, is exported. When the function is called the counter is
	// what was left, less than zero.
	GlobalExport string
	// TableEntries is how large all tables together may grow.
	TableEntries uint32
}

// Instrument returns the module with its work counted and tables that have a
// greatest size. Of the custom sections only the function names stay. The error
// is a *FormatError: the module uses a name that is reserved.
//
// A head costs 1, and 1 more for each 256 instructions in the function or loop
// that are not in a loop within it. A bulk operation costs 1 and 1 more for each
// 256 bytes or 32 entries of a table.
func (m *Module) Instrument(r Rewrite) ([]byte, error) {
	if err := m.reserved(r); err != nil {
		return nil, err
	}
	w := &rewriter{
		Module: m, Rewrite: r,
		counter: uint32(m.imported[KindGlobal] + len(m.Globals)),
		ask:     uint32(m.imported[KindFunction]),
		refill:  uint32(m.functions()) + 1,
	}
	w.out = append(make([]byte, 0, w.size()), magic...)
	sections := m.sections
	for _, id := range emitted {
		var s *section
		if len(sections) > 0 && sections[0].id == id {
			s, sections = &sections[0], sections[1:]
		}
		w.section(id, s)
	}
	w.names()
	return w.out, nil
}

// emitted are the sections of the rewritten module, in their order.
var emitted = [...]byte{
	typeSection, importSection, functionSection, tableSection, memorySection, globalSection,
	exportSection, startSection, elementSection, dataCountSection, codeSection, dataSection,
}

func (m *Module) reserved(r Rewrite) error {
	for _, i := range m.Imports {
		if i.Module == r.ImportModule {
			return &FormatError{Section: sectionNames[importSection], Reason: fmt.Sprintf("imports %s; the name %q is reserved", i, i.Module)}
		}
	}
	for _, e := range m.Exports {
		if e.Name == r.GlobalExport {
			return &FormatError{Section: sectionNames[exportSection], Reason: fmt.Sprintf("exports %s %q; the name is reserved", e.Kind, e.Name)}
		}
	}
	return nil
}

type rewriter struct {
	*Module
	Rewrite
	counter uint32 // the added global
	ask     uint32 // the added import; functions from here on move up by one
	refill  uint32 // the added function
	next    int    // of the patches
	local   uint32 // the added local of the function that is written
	out     []byte
	scratch []byte
}

// size is at least what the rewritten module needs.
func (w *rewriter) size() int {
	const fixed, perHead, perBulk, perBody, perIndex = 1024, 32, 80, 8, 1
	n := len(w.bytes) + fixed + perBody*len(w.bodies) + len(w.ImportModule) + len(w.ImportName) + len(w.GlobalExport)
	for _, p := range w.patches {
		switch p.what {
		case patchIndex:
			n += perIndex
		case patchHead:
			n += perHead
		default:
			n += perBulk
		}
	}
	return n
}

// section writes a section, which may be missing from the module.
func (w *rewriter) section(id byte, s *section) {
	switch id {
	case typeSection:
		w.added(id, s, typeOfImport, typeOfRefill)
	case importSection:
		w.added(id, s, named(w.ImportModule)+named(w.ImportName)+"\x00"+number(uint32(len(w.Types))))
	case functionSection:
		w.added(id, s, number(uint32(len(w.Types))+1))
	case globalSection:
		w.added(id, s, "\x7e\x01\x42\x00\x0b")
	case tableSection:
		w.tables(id)
	case codeSection:
		w.code(id)
	case exportSection:
		w.added(id, s, named(w.GlobalExport)+"\x03"+number(w.counter))
	default:
		if s != nil {
			begin := w.begin(id)
			w.out = w.copy(w.out, s.begin, s.end)
			w.end(begin)
		}
	}
}

// The types of the imported function and of the one that calls it.
const (
	typeOfImport = "\x60\x00\x01\x7e"
	typeOfRefill = "\x60\x00\x00"
)

// added writes a section, which is a vector, with more entries.
func (w *rewriter) added(id byte, s *section, entries ...string) {
	begin := w.begin(id)
	if s == nil {
		w.out = append(w.out, byte(len(entries)))
	} else {
		r := &reader{b: w.bytes[:s.end], at: s.begin}
		w.out = binary.AppendUvarint(w.out, uint64(r.u32())+uint64(len(entries)))
		w.out = w.copy(w.out, r.at, s.end)
	}
	for _, e := range entries {
		w.out = append(w.out, e...)
	}
	w.end(begin)
}

// begin begins a section; its size is written at the end, in five bytes.
func (w *rewriter) begin(id byte) (begin int) {
	w.out = append(w.out, id, 0, 0, 0, 0, 0)
	return len(w.out)
}

func (w *rewriter) end(begin int) {
	size := len(w.out) - begin
	for i := range 5 {
		w.out[begin-5+i] = byte(size>>(7*i)) | 0x80
	}
	w.out[begin-1] &= 0x7f
}

// copy appends what is between begin and end, with its patches.
func (w *rewriter) copy(out []byte, begin, end int) []byte {
	for ; w.next < len(w.patches) && int(w.patches[w.next].at) < end; w.next++ {
		p := w.patches[w.next]
		out = append(out, w.bytes[begin:p.at]...)
		begin = int(p.at)
		if p.what == patchIndex {
			r := &reader{b: w.bytes, at: begin}
			out = binary.AppendUvarint(out, uint64(w.moved(r.u32())))
			begin = r.at
			continue
		}
		out = w.count(out, p)
	}
	return append(out, w.bytes[begin:end]...)
}

// moved is the index that a function has when one is added.
func (w *rewriter) moved(function uint32) uint32 {
	if function >= w.ask {
		return function + 1
	}
	return function
}

// tables writes the section of tables, each with a greatest size, so that together they
// take no more than they may. What they do not start with is shared evenly.
func (w *rewriter) tables(id byte) {
	if len(w.Tables) == 0 {
		return
	}
	begin := w.begin(id)
	var entries uint64
	for _, t := range w.Tables {
		entries += uint64(t.Min)
	}
	w.out = binary.AppendUvarint(w.out, uint64(len(w.Tables)))
	for _, t := range w.Tables {
		highest := uint64(t.Min)
		if all := uint64(w.TableEntries); entries < all {
			highest += (all - entries) / uint64(len(w.Tables))
		}
		w.out = append(w.out, byte(t.Type), 1)
		w.out = binary.AppendUvarint(w.out, uint64(t.Min))
		w.out = binary.AppendUvarint(w.out, min(highest, uint64(t.Max)))
	}
	w.end(begin)
}

func named(s string) string { return number(uint32(len(s))) + s }

func number(n uint32) string { return string(binary.AppendUvarint(nil, uint64(n))) }
