package build_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/steps/build"
)

const header = "\x00asm\x01\x00\x00\x00"

// twoSections is a custom section "a" and an empty type section.
const twoSections = header + "\x00\x03\x01a?" + "\x01\x01\x00"

func TestSectionIsReplacedNotRepeated(t *testing.T) {
	t.Parallel()
	wasm := []byte(twoSections)
	for _, payload := range []string{"first", strings.Repeat("long", 100), "", "last"} {
		next, err := build.AppendSection(wasm, "notes", []byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		again, err := build.AppendSection(next, "notes", []byte(payload))
		if err != nil || !bytes.Equal(next, again) {
			t.Errorf("%.10q: appended again it differs, %v", payload, err)
		}
		got, ok, err := build.Section(next, "notes")
		if err != nil || !ok || string(got) != payload {
			t.Errorf("%.10q: read as %q, %t, %v", payload, got, ok, err)
		}
		if !bytes.HasPrefix(next, []byte(twoSections)) {
			t.Errorf("%.10q: the other sections changed", payload)
		}
		wasm = next
	}
	if string(wasm) != twoSections+"\x00\x0a\x05noteslast" {
		t.Errorf("%q", wasm)
	}
}

func TestSectionsOfBadFiles(t *testing.T) {
	t.Parallel()
	for name, wasm := range map[string]string{
		"nothing":                        "",
		"not wasm":                       "#!/bin/sh",
		"a component":                    "\x00asm\x0d\x00\x01\x00",
		"a section without a length":     header + "\x00",
		"a section longer than the file": header + "\x00\x05\x01a",
		"a length of six bytes":          header + "\x00\x80\x80\x80\x80\x80\x01",
	} {
		if _, err := build.AppendSection([]byte(wasm), "notes", nil); !errors.Is(err, build.ErrNotWasm) {
			t.Errorf("%s: append: %v", name, err)
		}
		if _, _, err := build.Section([]byte(wasm), "notes"); !errors.Is(err, build.ErrNotWasm) {
			t.Errorf("%s: read: %v", name, err)
		}
	}
	if _, ok, err := build.Section([]byte(twoSections), "notes"); ok || err != nil {
		t.Errorf("a section that is not there: %t, %v", ok, err)
	}
}

func FuzzAppendSection(f *testing.F) {
	f.Add([]byte(twoSections), "notes", []byte("text"))
	f.Add([]byte(header+"\x00\x01\x05"), "", []byte{})
	f.Fuzz(func(t *testing.T, wasm []byte, name string, payload []byte) {
		out, err := build.AppendSection(wasm, name, payload)
		if err != nil {
			return
		}
		got, ok, err := build.Section(out, name)
		if err != nil || !ok || !bytes.Equal(got, payload) {
			t.Fatalf("%q, %t, %v", got, ok, err)
		}
	})
}
