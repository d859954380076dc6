package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of objects and arrays.
const maxDepth = 1_000

// Decode reads one JSON value. A number written as an integer becomes an int64,
// or a uint64 if it is larger; if neither holds it, a float64 that writes the
// same digits back, and else it is refused. Other numbers become a float64, which
// is never minus zero. An object with a name twice, nesting deeper than 1,000 and
// anything after the value are refused. Errors are a [*DecodeError].
func Decode(text []byte) (any, error) {
	d := &decoder{dec: json.NewDecoder(bytes.NewReader(text))}
	d.dec.UseNumber()
	value, err := d.value(0)
	if err != nil {
		return nil, d.wrap(err)
	}
	if _, err := d.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, d.wrap(errors.New("something follows the JSON value"))
	}
	return value, nil
}

// Encode writes a value that consists of what [Decode] gives: names sorted,
// nothing escaped for HTML, no line end. Equal values give equal bytes.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("expr: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

type decoder struct{ dec *json.Decoder }

func (d *decoder) wrap(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the JSON text ends too early")
	}
	offset := d.dec.InputOffset()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = syntax.Offset
	}
	return &DecodeError{Offset: offset, Message: err.Error()}
}

func (d *decoder) value(depth int) (any, error) {
	token, err := d.dec.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	switch t := token.(type) {
	case json.Number:
		return number(string(t))
	case json.Delim:
		if t == '{' {
			return d.object(depth)
		}
		return d.array(depth)
	}
	return token, nil
}

func (d *decoder) object(depth int) (any, error) {
	out := map[string]any{}
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("an object's name must be a string")
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("the name %.100q is there twice in one object", name)
		}
		if out[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
	}
	_, err := d.dec.Token()
	return out, err
}

func (d *decoder) array(depth int) (any, error) {
	out := []any{}
	for d.dec.More() {
		value, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	_, err := d.dec.Token()
	return out, err
}

func number(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("the number %s is too large", shorten(text))
		}
		if f == 0 {
			return 0.0, nil // minus zero is written -0, which is the integer 0
		}
		return f, nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || strconv.FormatFloat(f, 'f', -1, 64) != text {
		return nil, fmt.Errorf("the integer %s would lose digits; write it as a string", shorten(text))
	}
	return f, nil
}

func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
