package wasm_test

import (
	"encoding/binary"
	"strings"
)

func uleb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func vector(items ...string) string { return uleb(len(items)) + strings.Join(items, "") }

func text(s string) string { return uleb(len(s)) + s }

func section(id byte, content string) string { return string([]byte{id}) + text(content) }

func custom(name, content string) string { return section(0, text(name)+content) }

// module is a module of these sections.
func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

// Sections of a small module: two functions, of which the first calls the
// second; an imported one comes before them.
var (
	types     = section(1, vector("\x60\x00\x00"))
	imports   = section(2, vector(text("env")+text("log")+"\x00\x00"))
	functions = section(3, vector("\x00", "\x00"))
	tables    = section(4, vector("\x70\x00\x0a"))
	memories  = section(5, vector("\x00\x01"))
	globals   = section(6, vector("\x70\x00\xd2\x02\x0b"))
	exports   = section(7, vector(text("f")+"\x00\x01"))
	start     = section(8, "\x02")
	elements  = section(9, vector("\x00\x41\x00\x0b"+vector("\x01")))
	dataCount = section(12, "\x01")
	code      = section(10, vector(text("\x00\x10\x02\x10\x00\x0b"), text("\x00\x0b")))
	data      = section(11, vector("\x01"+text("d")))
)

func whole() []string {
	return []string{types, imports, functions, tables, memories, globals, exports, start, elements, dataCount, code, data}
}

// oneFunction is a module with one function of the body, and a memory.
func oneFunction(body string) []byte {
	return module(types, section(3, vector("\x00")), memories, section(10, vector(text(body))))
}
