package host

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host/abi"
)

// MaxNesting is how many lists and objects may be nested in a JSON request.
const MaxNesting = 1000

// RequestHash is the hash by which a request is told from others, in keys and
// in replays. A body of type [abi.TypeJSON] is hashed by its value: order of
// names, white space and ways to write a string or a number do not matter
// (RFC 8785, but a number that a double cannot hold keeps its digits). A body
// of another type is hashed as it is. An error is a [*BodyError].
func RequestHash(tool, typ, businessKey string, unknown bool, body []byte) (Hash, error) {
	if typ == abi.TypeJSON {
		canonical, err := appendCanonical(nil, body)
		if err != nil {
			return Hash{}, err
		}
		body = canonical
	}
	f := newFields(requestDomain)
	f.add([]byte(tool))
	f.add([]byte(typ))
	f.add([]byte(businessKey))
	opted := byte(0)
	if unknown {
		opted = 1
	}
	f.add([]byte{opted})
	f.add(body)
	return f.sum(), nil
}

// appendCanonical appends the canonical form of one JSON text: two texts have
// the same form exactly when they are the same value.
func appendCanonical(dst, text []byte) ([]byte, error) {
	r := reader{text: text}
	r.space()
	dst, err := r.value(dst, 0)
	if err != nil {
		return nil, err
	}
	r.space()
	if r.at < len(text) {
		return nil, r.errorf("something follows the JSON value")
	}
	return dst, nil
}

// reader reads JSON strictly. encoding/json would hide what matters here: it
// takes duplicate names and replaces what is not Unicode.
type reader struct {
	text []byte
	at   int
}

func (r *reader) errorf(format string, args ...any) error {
	return &BodyError{Offset: r.at, Reason: fmt.Sprintf(format, args...)}
}

func (r *reader) space() {
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.at]) >= 0 {
		r.at++
	}
}

// peek returns the next byte, or 0 at the end, which begins nothing in JSON.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// take skips the byte b if it is the next one.
func (r *reader) take(b byte) bool {
	if r.at < len(r.text) && r.text[r.at] == b {
		r.at++
		return true
	}
	return false
}

func (r *reader) value(dst []byte, depth int) ([]byte, error) {
	switch b := r.peek(); {
	case b == '{' || b == '[':
		if depth == MaxNesting {
			return nil, r.errorf("more than %d lists and objects are nested", MaxNesting)
		}
		if b == '{' {
			return r.object(dst, depth+1)
		}
		return r.list(dst, depth+1)
	case b == '"':
		s, err := r.str()
		return appendString(dst, s), err
	case b == '-' || isDigit(b):
		return r.number(dst)
	}
	for _, word := range []string{"null", "true", "false"} {
		if bytes.HasPrefix(r.text[r.at:], []byte(word)) {
			r.at += len(word)
			return append(dst, word...), nil
		}
	}
	return nil, r.errorf("a JSON value is missing")
}

func (r *reader) list(dst []byte, depth int) ([]byte, error) {
	r.at++
	dst = append(dst, '[')
	r.space()
	for first := true; !r.take(']'); first = false {
		if !first {
			if !r.take(',') {
				return nil, r.errorf("a list goes on without a comma")
			}
			dst = append(dst, ',')
			r.space()
		}
		var err error
		if dst, err = r.value(dst, depth); err != nil {
			return nil, err
		}
		r.space()
	}
	return append(dst, ']'), nil
}

type member struct {
	name  string
	value []byte
}

func (r *reader) object(dst []byte, depth int) ([]byte, error) {
	start := r.at
	r.at++
	var members []member
	r.space()
	for !r.take('}') {
		if len(members) > 0 {
			if !r.take(',') {
				return nil, r.errorf("an object goes on without a comma")
			}
			r.space()
		}
		m, err := r.member(depth)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
		r.space()
	}
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			if m.name == members[i-1].name {
				return nil, &BodyError{Offset: start, Reason: fmt.Sprintf("an object has the name %.100q twice", m.name)}
			}
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}'), nil
}

func (r *reader) member(depth int) (m member, err error) {
	if r.peek() != '"' {
		return m, r.errorf("a name in quotes is missing")
	}
	if m.name, err = r.str(); err != nil {
		return m, err
	}
	r.space()
	if !r.take(':') {
		return m, r.errorf("a colon is missing after the name %q", m.name)
	}
	r.space()
	m.value, err = r.value(nil, depth)
	return m, err
}

// compareUTF16 orders names by their UTF-16 code units, as RFC 8785 asks.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			return slices.Compare(utf16.Encode([]rune{x}), utf16.Encode([]rune{y}))
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
