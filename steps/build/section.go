package build

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// header begins every core module.
var header = []byte("\x00asm\x01\x00\x00\x00")

const customSection = 0

// AppendSection returns the module with a custom section at its end, in place
// of all earlier ones of that name. The same section again changes nothing. The
// error matches ErrNotWasm; wasm is not changed.
func AppendSection(wasm []byte, name string, payload []byte) ([]byte, error) {
	out := append(make([]byte, 0, len(wasm)+len(name)+len(payload)+20), header...)
	err := sections(wasm, func(id byte, whole, body []byte) {
		if n, _, ok := named(id, body); !ok || n != name {
			out = append(out, whole...)
		}
	})
	if err != nil {
		return nil, err
	}
	content := append(binary.AppendUvarint(nil, uint64(len(name))), name...)
	content = append(content, payload...)
	out = append(out, customSection)
	out = binary.AppendUvarint(out, uint64(len(content)))
	return append(out, content...), nil
}

// Section returns the content of the first custom section of that name, which
// aliases wasm; ok is false if there is none. The error matches ErrNotWasm.
func Section(wasm []byte, name string) (payload []byte, ok bool, err error) {
	err = sections(wasm, func(id byte, _, body []byte) {
		if n, p, custom := named(id, body); custom && n == name && !ok {
			payload, ok = p, true
		}
	})
	return payload, ok, err
}

// named takes apart a custom section.
func named(id byte, body []byte) (name string, payload []byte, ok bool) {
	if id != customSection {
		return "", nil, false
	}
	n, size := length(body)
	if size == 0 {
		return "", nil, false
	}
	return string(body[size : size+n]), body[size+n:], true
}

// sections calls f with each section: as it stands in the file, and its body.
func sections(wasm []byte, f func(id byte, whole, body []byte)) error {
	rest, ok := bytes.CutPrefix(wasm, header)
	if !ok {
		return fmt.Errorf("%w: it does not begin as one", ErrNotWasm)
	}
	for len(rest) > 0 {
		n, size := length(rest[1:])
		if size == 0 {
			return fmt.Errorf("%w: section %d at byte %d is longer than the file", ErrNotWasm, rest[0], len(wasm)-len(rest))
		}
		end := 1 + size + n
		f(rest[0], rest[:end], rest[1+size:end])
		rest = rest[end:]
	}
	return nil
}

// length reads the length of what follows it, and how many bytes it takes
// itself: none if it cannot be.
func length(b []byte) (n, size int) {
	v, size := binary.Uvarint(b)
	if size <= 0 || size > 5 || v > uint64(len(b)-size) {
		return 0, 0
	}
	return int(v), size
}
