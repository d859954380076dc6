package tomlfile

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// walker goes over the file and over the type that it is decoded into, side by
// side. go-toml is strict too, but stops at the first wrong type and does not
// say where in an array a key was.
type walker struct {
	file    *File
	parser  unstable.Parser
	lengths map[string]int // of arrays of tables, by Path.id
	seen    map[string]bool
	errs    Errors
}

// place is a position in the file and in the type. A nil type means that
// anything goes below.
type place struct {
	path Path
	typ  reflect.Type
}

// walk also notes the place of every key. It expects valid TOML.
func (f *File) walk(dst any) Errors {
	w := &walker{file: f, lengths: map[string]int{}, seen: map[string]bool{}}
	w.parser.Reset(f.data)
	top := place{typ: reflect.TypeOf(dst).Elem()}
	current := top
	for w.parser.NextExpression() {
		switch e := w.parser.Expression(); e.Kind {
		case unstable.Table:
			current = w.header(top, e, false)
		case unstable.ArrayTable:
			current = w.header(top, e, true)
		case unstable.KeyValue:
			w.keyValue(current, e)
		}
	}
	return w.errs
}

// header enters [a.b] or [[a.b]].
func (w *walker) header(at place, e *unstable.Node, array bool) place {
	offset := 0
	for it := e.Key(); it.Next(); {
		at = w.key(w.lastElement(at), it.Node())
		offset = int(it.Node().Raw.Offset)
	}
	if !array {
		w.kind(at, "a table", reflect.Struct, reflect.Map)
		return at
	}
	w.kind(at, "an array of tables", reflect.Slice)
	w.lengths[at.path.id()]++
	element := w.lastElement(at)
	w.file.mark(element.path, offset)
	return element
}

// lastElement enters the last table of an array of tables; another place is
// left as it is.
func (w *walker) lastElement(at place) place {
	n := w.lengths[at.path.id()]
	if n == 0 {
		return at
	}
	element := place{path: at.path.Add(n - 1)}
	if at.typ != nil && at.typ.Kind() == reflect.Slice {
		element.typ = deref(at.typ.Elem())
	}
	return element
}

func (w *walker) keyValue(at place, e *unstable.Node) {
	for it := e.Key(); it.Next(); {
		at = w.key(at, it.Node())
		if !it.IsLast() {
			w.kind(at, "a table", reflect.Struct, reflect.Map)
		}
	}
	w.value(at, e.Value())
}

// key goes down by one key. Below a nil type there is nothing to say, however
// deep the file goes.
func (w *walker) key(at place, node *unstable.Node) place {
	if at.typ == nil {
		return at
	}
	name := string(node.Data)
	next := place{path: at.path.Add(name)}
	w.file.mark(next.path, int(node.Raw.Offset))
	switch at.typ.Kind() {
	case reflect.Map:
		next.typ = deref(at.typ.Elem())
	case reflect.Struct:
		field, ok := fieldOf(at.typ, name)
		if sentence := field.Tag.Get("notyet"); sentence != "" {
			w.fail(next.path, "%s: %s", name, sentence)
		} else if !ok {
			w.unknown(next.path, at, name)
		} else {
			next.typ = deref(field.Type)
		}
	}
	return next
}

func (w *walker) unknown(p Path, in place, name string) {
	known := keysOf(in.typ)
	e := w.fail(p, "unknown key %q%s", name, inside(in.path))
	if e == nil {
		return
	}
	if s := Suggest(name, known); s != "" {
		e.WithHint("did you mean %q?", s)
	} else {
		e.WithHint("known here: %s", strings.Join(known, ", "))
	}
}

func (w *walker) value(at place, v *unstable.Node) {
	if at.typ == nil {
		return
	}
	switch v.Kind {
	case unstable.InlineTable:
		if !w.kind(at, "a table", reflect.Struct, reflect.Map) {
			return
		}
		for it := v.Children(); it.Next(); {
			w.keyValue(at, it.Node())
		}
	case unstable.Array:
		w.array(at, v)
	case unstable.String:
		w.text(at, string(v.Data))
	case unstable.Integer:
		w.kind(at, "a whole number", reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint32, reflect.Uint64, reflect.Float64)
	case unstable.Float:
		w.kind(at, "a number with a fraction", reflect.Float64)
	case unstable.Bool:
		w.kind(at, "true or false", reflect.Bool)
	default:
		w.kind(at, "a date or time")
	}
}

func (w *walker) array(at place, v *unstable.Node) {
	if !w.kind(at, "an array", reflect.Slice) {
		return
	}
	i := 0
	for it := v.Children(); it.Next(); {
		element := place{path: at.path.Add(i), typ: deref(at.typ.Elem())}
		offset := w.file.places[at.path.id()]
		if raw := it.Node().Raw; raw.Length > 0 {
			offset = int(raw.Offset)
		}
		w.file.mark(element.path, offset)
		w.value(element, it.Node())
		i++
	}
}

func (w *walker) text(at place, s string) {
	if target, ok := reflect.New(at.typ).Interface().(encoding.TextUnmarshaler); ok {
		if err := target.UnmarshalText([]byte(s)); err != nil {
			w.fail(at.path, "%s: %s", lastKey(at.path), err)
		}
		return
	}
	w.kind(at, "a string", reflect.String)
}

// kind reports whether the type at a place takes what the file gives, and says
// so if it does not.
func (w *walker) kind(at place, got string, takes ...reflect.Kind) bool {
	if at.typ == nil {
		return true
	}
	_, isText := reflect.New(at.typ).Interface().(encoding.TextUnmarshaler)
	if !isText && slices.Contains(takes, at.typ.Kind()) {
		return true
	}
	e := w.fail(at.path, "%s must be %s, not %s", lastKey(at.path), wanted(at.typ), got)
	if e != nil && got == "a table" && at.typ.Kind() == reflect.Slice {
		e.WithHint("write [[%s]]", lastKey(at.path))
	}
	return false
}

// fail records an error unless there is one at the same place.
func (w *walker) fail(p Path, format string, args ...any) *Error {
	if w.seen[p.id()] {
		return nil
	}
	w.seen[p.id()] = true
	e := w.file.Errorf(p, format, args...)
	w.errs = append(w.errs, e)
	return e
}

// mark keeps the first place of a path: [a.b] and [a.c] are both about a.
func (f *File) mark(p Path, offset int) {
	if id := p.id(); !f.Has(p) {
		f.places[id] = offset
	}
}

func wanted(t reflect.Type) string {
	if _, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "a table"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// deref returns the type behind pointers; nil for any.
func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("toml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keysOf lists the keys that a table may have.
func keysOf(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("notyet") == "" && f.Tag.Get("toml") != "" {
			names = append(names, f.Tag.Get("toml"))
		}
	}
	return names
}

// inside says which table a key is in, as the file writes it.
func inside(p Path) string {
	if len(p) == 0 {
		return ""
	}
	var parts []string
	array := false
	for _, part := range p {
		if _, isIndex := part.(int); isIndex {
			array = len(parts) == 1
			continue
		}
		parts = append(parts, quoteKey(part.(string)))
	}
	if array && len(parts) == 1 {
		return " in [[" + parts[0] + "]]"
	}
	return " in [" + strings.Join(parts, ".") + "]"
}

func quoteKey(key string) string {
	if strings.ContainsFunc(key, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}) || key == "" {
		return fmt.Sprintf("%q", key)
	}
	return key
}

func lastKey(p Path) string {
	for i := len(p) - 1; i >= 0; i-- {
		if s, ok := p[i].(string); ok {
			if i == len(p)-1 {
				return quoteKey(s)
			}
			return fmt.Sprintf("%s (element %d)", quoteKey(s), p[len(p)-1].(int)+1)
		}
	}
	return "the file"
}
