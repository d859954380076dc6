package wasm_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
)

var rewriting = wasm.Rewrite{ImportModule: "counter", ImportName: "refill", GlobalExport: "left", TableEntries: 100}

func instrument(t testing.TB, b []byte) []byte {
	t.Helper()
	m, err := wasm.Parse(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(b)
	out, err := m.Instrument(rewriting)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, before) {
		t.Error("the module's bytes were changed")
	}
	if cap(out) < len(out) || len(out) == 0 {
		t.Errorf("%d bytes", len(out))
	}
	return out
}

// parts are the contents of the sections of a rewritten module, by number; a
// custom section has number 0.
func parts(t testing.TB, b []byte) map[byte]string {
	t.Helper()
	p := make(map[byte]string)
	for at := 8; at < len(b); {
		id := b[at]
		size := int(b[at+1]&0x7f) | int(b[at+2]&0x7f)<<7 | int(b[at+3]&0x7f)<<14
		p[id] = string(b[at+6 : at+6+size])
		at += 6 + size
	}
	return p
}

// head is what counts 1, with two globals before the counter or none.
func head(counter, refill string) string {
	return "\x23" + counter + "\x42\x01\x7d\x24" + counter + "\x23" + counter + "\x42\x00\x53\x04\x40\x10" + refill + "\x0b"
}

func TestInstrument(t *testing.T) {
	t.Parallel()
	got := parts(t, instrument(t, module(whole()...)))
	for id, want := range map[byte]string{
		1:  vector("\x60\x00\x00", "\x60\x00\x01\x7e", "\x60\x00\x00"),
		2:  vector(text("env")+text("log")+"\x00\x00", text("counter")+text("refill")+"\x00\x01"),
		3:  vector("\x00", "\x00", "\x02"),
		4:  vector("\x70\x01\x0a\x64"),
		5:  vector("\x00\x01"),
		6:  vector("\x70\x00\xd2\x03\x0b", "\x7e\x01\x42\x00\x0b"),
		7:  vector(text("f")+"\x00\x02", text("left")+"\x03\x01"),
		8:  "\x03",
		9:  vector("\x00\x41\x00\x0b" + vector("\x02")),
		12: "\x01",
		10: vector(text("\x00"+head("\x01", "\x04")+"\x10\x03\x10\x00\x0b"), text("\x00"+head("\x01", "\x04")+"\x0b"), text("\x00\x10\x01\x24\x01\x0b")),
		11: vector("\x01" + text("d")),
	} {
		if got[id] != want {
			t.Errorf("section %d:\n%x, want\n%x", id, got[id], want)
		}
	}
}

// A module may be empty; what is added then stands alone.
func TestInstrumentNothing(t *testing.T) {
	t.Parallel()
	out := instrument(t, module())
	m, err := wasm.Parse(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Imports) != 1 || len(m.Functions) != 1 || len(m.Globals) != 1 || len(m.Exports) != 1 {
		t.Errorf("%+v", m)
	}
}

// All eight forms of segments name functions, in one way or the other. Seen red
// with expressions whose functions are not moved.
func TestElementSegments(t *testing.T) {
	t.Parallel()
	const at, kind, ref, f, null = "\x41\x00\x0b", "\x00", "\x70", "\xd2\x00\x0b", "\xd0\x70\x0b"
	moved := func(s string) string {
		return string(bytes.ReplaceAll([]byte(s), []byte("\xd2\x00"), []byte("\xd2\x01")))
	}
	for form, c := range []struct{ before, items, want string }{
		{at, vector("\x00"), vector("\x01")},
		{kind, vector("\x00"), vector("\x01")},
		{"\x00" + at + kind, vector("\x00"), vector("\x01")},
		{kind, vector("\x00"), vector("\x01")},
		{at, vector(f, null), moved(vector(f, null))},
		{ref, vector(f), moved(vector(f))},
		{"\x00" + at + ref, vector(null, f), moved(vector(null, f))},
		{ref, vector(f), moved(vector(f))},
	} {
		segment := func(items string) string { return section(9, vector(string(rune(form))+c.before+items)) }
		b := module(types, section(3, vector("\x00")), tables, segment(c.items), section(10, vector(text("\x00\x0b"))))
		if got, want := parts(t, instrument(t, b))[9], segment(c.want)[2:]; got != want {
			t.Errorf("form %d: %x, want %x", form, got, want)
		}
	}
}

// Indices may be longer than they need, and grow.
func TestIndicesGrow(t *testing.T) {
	t.Parallel()
	const n = 128
	var declared, bodies []string
	for range n {
		declared, bodies = append(declared, "\x00"), append(bodies, text("\x00\x10\xff\x80\x80\x80\x00\x10\xff\x00\x0b"))
	}
	out := instrument(t, module(types, section(3, vector(declared...)), section(10, vector(bodies...))))
	if got := bytes.Count(out, []byte("\x10\x80\x01\x10\x80\x01\x0b")); got != n {
		t.Errorf("%d functions call the one with index 128, want %d", got, n)
	}
}

// The local for a length comes behind those that are there, and a function
// without bulk operations gets none.
func TestLocalsOfBulkOperations(t *testing.T) {
	t.Parallel()
	got := parts(t, instrument(t, oneFunction("\x01\x03\x7e\x41\x00\x41\x00\x41\x00\xfc\x0b\x00\x0b")))[10]
	want := "\x02\x03\x7e\x01\x7f" + head("\x00", "\x02") + "\x41\x00\x41\x00\x41\x00" +
		"\x22\x03\x23\x00\x42\x01\x7d\x20\x03\xad\x42\x08\x88" + "\x7d\x24\x00\x23\x00\x42\x00\x53\x04\x40\x10\x02\x0b" + "\xfc\x0b\x00\x0b"
	if want = vector(text(want), text("\x00\x10\x00\x24\x00\x0b")); got != want {
		t.Errorf("%x, want\n%x", got, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	part := func(id byte, content string) string { return string([]byte{id}) + text(content) }
	functionNames := func(indices ...string) string {
		return part(1, vector(indices[0]+text("log"), indices[1]+text("first"), indices[2]+text("second")))
	}
	locals := func(index string) string { return part(2, vector(index+vector("\x00"+text("a"), "\x01"+text("b")))) }
	const name, labels = "\x00\x06\x05guest", "\x03\x06\x01\x01\x01\x00\x01l"
	with := func(content string) []byte {
		return module(append(whole(), custom(".debug_line", "offsets"), custom("name", content), custom("sourceMappingURL", "x"))...)
	}
	got := parts(t, instrument(t, with(name+functionNames("\x00", "\x01", "\x02")+locals("\x02")+labels)))[0]
	want := text("name") + name +
		part(1, vector("\x00"+text("log"), "\x02"+text("first"), "\x03"+text("second"), "\x04"+text("refill"))) + locals("\x03")
	if got != want {
		t.Errorf("%x, want\n%x", got, want)
	}
	// Names are for people: what cannot be read is left out, and so is all else.
	for what, content := range map[string]string{"damaged": "\x01\x05\x01", "short": part(1, "\x05\x00")} {
		if got, there := parts(t, instrument(t, with(content)))[0]; there {
			t.Errorf("%s: %q", what, got)
		}
	}
}

func TestReservedNames(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]byte{
		"an import": module(types, section(2, vector(text("counter")+text("other")+"\x00\x00"))),
		"an export": module(memories, section(7, vector(text("left")+"\x02\x00"))),
	} {
		m, err := wasm.Parse(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Instrument(rewriting)
		if format := new(wasm.FormatError); !errors.As(err, &format) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What comes out can be read, whatever went in.
func FuzzInstrument(f *testing.F) {
	f.Add(module(whole()...))
	f.Add(module(append(whole(), custom("name", "\x01\x04\x01\x00\x01f"))...))
	f.Add(oneFunction("\x01\x03\x7e\x41\x00\x41\x00\x41\x00\xfc\x0b\x00\x0b"))
	f.Add(oneFunction("\x00\x03\x40\x41\x00\x04\x40\x0c\x01\x05\x0b\x0b\x0b"))
	f.Add(oneFunction("\x00\xfd\x0c0123456789abcdef\x1a\x0e\x01\x00\x00\x0b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := wasm.Parse(b, &wasm.Limits{Size: 1 << 16})
		if err != nil {
			return
		}
		out, err := m.Instrument(rewriting)
		if err != nil {
			return
		}
		again, err := wasm.Parse(out, &wasm.Limits{FunctionEffort: 1 << 40, Effort: 1 << 40, BodySize: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Functions) != len(m.Functions)+1 || len(again.Exports) != len(m.Exports)+1 || again.Start >= 0 != (m.Start >= 0) {
			t.Errorf("%+v became %+v", m, again)
		}
	})
}
