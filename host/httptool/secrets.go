package httptool

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

const (
	// minSecret is the least length of a secret's value in bytes: a shorter one
	// cannot be cut out of answers without cutting up everything else.
	minSecret = 4
	// minEncoded is the least length of a form that is looked for in answers
	// besides the value itself.
	minEncoded = 6
	// maxNested is how many levels of JSON in strings of JSON are looked into. A
	// text can have millions of levels, each but a few bytes shorter than the
	// one around it.
	maxNested = 3
)

// secrets reads the values that one tool needs, by name.
type secrets map[string]func() (string, error)

// read returns the values as they are now. The error names the secret.
func (s secrets) read() (map[string]string, error) {
	values := make(map[string]string, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		v, err := s[name]()
		switch {
		case err != nil:
			return nil, fmt.Errorf("secret %s: %w", name, err)
		case len(v) < minSecret:
			return nil, fmt.Errorf("secret %s: its value has fewer than %d bytes, too few to keep it out of records", name, minSecret)
		case !validHeaderText(v):
			return nil, fmt.Errorf("secret %s: its value has a line break or another control character, which a header cannot hold", name)
		}
		values[name] = v
	}
	return values, nil
}

// cutter removes the values of secrets, in the forms in which they come back.
type cutter struct {
	plain []form // the values themselves
	all   []form // longest first, so that no form leaves the rest of another
}

type form struct{ text, mark string }

func newCutter(values map[string]string) *cutter {
	c := &cutter{}
	for name, v := range values {
		mark := "[secret " + name + "]"
		c.plain = append(c.plain, form{v, mark})
		for _, text := range encodings(v) {
			if text != v && len(text) >= minEncoded {
				c.all = append(c.all, form{text, mark})
			}
		}
	}
	c.all = append(c.all, c.plain...)
	longest := func(a, b form) int {
		if d := len(b.text) - len(a.text); d != 0 {
			return d
		}
		return strings.Compare(a.text+a.mark, b.text+b.mark)
	}
	slices.SortFunc(c.plain, longest)
	slices.SortFunc(c.all, longest)
	return c
}

// encodings returns how a value looks in URLs, in JSON and within base64 text.
func encodings(v string) []string {
	quoted, _ := json.Marshal(v) // a string always has a JSON form
	inner := string(quoted[1 : len(quoted)-1])
	list := []string{inner, strings.ReplaceAll(inner, "/", `\/`)}
	for _, text := range []string{url.QueryEscape(v), url.PathEscape(v), escape(v)} {
		list = append(list, text, lowerHex(text))
	}
	for shift := range 3 {
		// The value begins at any byte of a group of three; characters that its
		// neighbours have a part in are left away.
		text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), v...))
		text = text[(shift*8+5)/6 : (shift+len(v))*8/6]
		list = append(list, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return list
}

// lowerHex writes percent-encoded text as some encoders do, with %2f for %2F.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// text cuts the values out of a message.
func (c *cutter) text(s string) string { return string(c.body([]byte(s))) }

// body cuts the values out of an answer, whatever its type says it is.
func (c *cutter) body(b []byte) []byte { return c.level(b, maxNested) }

// level cuts the values out of a text in which others are nested so deep.
func (c *cutter) level(b []byte, depth int) []byte { return c.bytes(c.unescaped(b, depth)) }

func (c *cutter) bytes(b []byte) []byte {
	for _, f := range c.all {
		if bytes.Contains(b, []byte(f.text)) {
			b = bytes.ReplaceAll(b, []byte(f.text), []byte(f.mark))
		}
	}
	return b
}

// unescaped cuts the values out of what is written with JSON's escapes. It
// looks at each stretch between quotes and control characters: in JSON those
// are the strings. All others keep their bytes, and the whole may be broken
// JSON, several texts in a row, or a sentence with JSON in it.
func (c *cutter) unescaped(b []byte, depth int) []byte {
	if len(c.all) == 0 || depth == 0 || !bytes.Contains(b, []byte(`\`)) {
		return b
	}
	out, start := make([]byte, 0, len(b)), 0
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\' && i+1 < len(b) && (b[i+1] == '"' || b[i+1] == '\\'):
			i++ // an escaped quote ends nothing
		case b[i] == '"' || b[i] < ' ':
			out = append(append(out, c.stretch(b[start:i], depth)...), b[i])
			start = i + 1
		}
	}
	return append(out, c.stretch(b[start:], depth)...)
}

// stretch cuts the values out of the inside of a JSON string, which may hold
// JSON itself and so is looked at like a text of its own.
func (c *cutter) stretch(b []byte, depth int) []byte {
	if !bytes.Contains(b, []byte(`\`)) {
		return b
	}
	var text string
	if json.Unmarshal(slices.Concat([]byte{'"'}, b, []byte{'"'}), &text) != nil {
		return b
	}
	cut := string(c.level([]byte(text), depth-1))
	if cut == text {
		return b
	}
	quoted, _ := json.Marshal(cut) // a string always has a JSON form
	return quoted[1 : len(quoted)-1]
}
