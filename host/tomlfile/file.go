package tomlfile

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// Path names a place in a file: the keys from the top as strings, and the
// elements of arrays as ints from 0, as in Path{"step", 1, "name"}.
type Path []any

// Add returns a path further in.
func (p Path) Add(parts ...any) Path { return slices.Concat(p, parts) }

func (p Path) id() string {
	var b strings.Builder
	for _, part := range p {
		if i, ok := part.(int); ok {
			b.WriteString("#" + strconv.Itoa(i))
		} else {
			fmt.Fprintf(&b, ".%q", part)
		}
	}
	return b.String()
}

// File is a file that was read. It does not change and is safe for concurrent
// use.
type File struct {
	name   string
	data   []byte
	places map[string]int // offsets of keys by Path.id
}

// Read decodes a file into dst, a pointer to a struct whose fields have `toml`
// tags; name is used in errors. It refuses keys without a field, values of
// another type, keys given twice, and every key whose field has the tag
// notyet:"a sentence": it is refused with that sentence. Such a field has type
// any. The error is an [Errors].
func Read(name string, data []byte, dst any) (*File, error) {
	f := &File{name: name, data: data, places: map[string]int{}}
	if !utf8.Valid(data) {
		return nil, Errors{{File: name, Message: "not UTF-8 text"}}
	}
	if err := toml.Unmarshal(data, new(map[string]any)); err != nil {
		return nil, f.parseError(err) // no TOML, or a key twice
	}
	if err := f.walk(dst).Err(); err != nil {
		return nil, err
	}
	if err := toml.Unmarshal(data, dst); err != nil {
		return nil, f.parseError(err)
	}
	return f, nil
}

// Has reports whether the file says something at p.
func (f *File) Has(p Path) bool {
	_, ok := f.places[p.id()]
	return ok
}

// Errorf returns an error at the place of p, or of the nearest thing around it
// that the file has.
func (f *File) Errorf(p Path, format string, args ...any) *Error {
	e := &Error{File: f.name, Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	for ; len(p) > 0; p = p[:len(p)-1] {
		if offset, ok := f.places[p.id()]; ok {
			e.Line, e.Column = f.position(offset)
			break
		}
	}
	return e
}

func (f *File) position(offset int) (line, column int) {
	before := string(f.data[:offset])
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
}

func (f *File) parseError(err error) error {
	e := &Error{File: f.name, Line: 1, Column: 1, Message: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		e.Line, e.Column = at.Position()
	}
	return Errors{e}
}
