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
	list := []string{
		url.QueryEscape(v), url.PathEscape(v), escape(v),
		inner, strings.ReplaceAll(inner, "/", `\/`),
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

// text cuts the values out of a message.
func (c *cutter) text(s string) string { return string(c.bytes([]byte(s))) }

func (c *cutter) bytes(b []byte) []byte {
	for _, f := range c.all {
		if bytes.Contains(b, []byte(f.text)) {
			b = bytes.ReplaceAll(b, []byte(f.text), []byte(f.mark))
		}
	}
	return b
}

// json cuts the values out of a JSON text, however its strings are escaped.
func (c *cutter) json(b []byte) []byte {
	b = c.bytes(b)
	if len(c.all) == 0 || !bytes.Contains(b, []byte(`\`)) {
		return b
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return b
	}
	v, found := c.walk(v)
	if !found {
		return b
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// walk cuts the values out of all strings and names of a decoded JSON value,
// and reports whether there were any.
func (c *cutter) walk(v any) (any, bool) {
	found := false
	switch v := v.(type) {
	case string:
		cut := c.text(v)
		return cut, cut != v
	case []any:
		for i := range v {
			item, ok := c.walk(v[i])
			v[i], found = item, found || ok
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			item, ok := c.walk(v[name])
			cut := c.text(name)
			delete(v, name)
			v[cut], found = item, found || ok || cut != name
		}
	}
	return v, found
}
