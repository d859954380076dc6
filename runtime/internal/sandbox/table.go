package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// table is a table as a module declares it.
type table struct {
	kind            byte
	lowest, highest uint32
}

const (
	kindFuncref   = 0x70
	kindExternref = 0x6f
)

// tableSection reads the tables and returns the section that is compiled: in it
// every table has a greatest size, so that table.grow cannot take more memory
// than MaxTableEntries need. What is left of those is shared evenly. The error
// is a *ModuleError.
func (f *wasmFile) tableSection(r *reader) ([]byte, error) {
	n := r.uint()
	if n > MaxTables {
		return nil, &ModuleError{ModuleTables, fmt.Sprintf("it has %d tables and the limit is %d", n, MaxTables)}
	}
	var tables []table
	for i := range n {
		t := table{kind: r.byte()}
		var flags byte
		flags, t.lowest, t.highest = r.limits()
		if !r.bad && (t.kind != kindFuncref && t.kind != kindExternref || flags > 1) {
			return nil, &ModuleError{ModuleInvalid, fmt.Sprintf("its table %d uses a feature that is off; build it for WebAssembly 2.0", i)}
		}
		tables = append(tables, t)
		f.tableEntries += uint64(t.lowest)
	}
	switch {
	case r.bad:
		return nil, nil
	case f.tableEntries > MaxTableEntries:
		return nil, &ModuleError{ModuleTables, fmt.Sprintf("its tables start with %d entries and the limit is %d; build a module with fewer functions that are called through tables", f.tableEntries, MaxTableEntries)}
	}
	content := binary.AppendUvarint(nil, uint64(n))
	for _, t := range tables {
		room := uint32(MaxTableEntries-f.tableEntries) / n
		content = append(content, t.kind, 1)
		content = binary.AppendUvarint(content, uint64(t.lowest))
		content = binary.AppendUvarint(content, uint64(min(t.highest, t.lowest+room)))
	}
	return slices.Concat(binary.AppendUvarint([]byte{sectionTable}, uint64(len(content))), content), nil
}
