package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pointer is a JSON Pointer (RFC 6901); empty means the whole document.
type pointer []string

func parsePointer(s string) (pointer, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("%q is no JSON Pointer: it must begin with a slash, as in \"/data/0\"", s)
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("%q is no JSON Pointer: it is not UTF-8", s)
	}
	tokens := strings.Split(s[1:], "/")
	for i, token := range tokens {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return nil, fmt.Errorf("%q is no JSON Pointer: ~ is written ~0", s)
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return tokens, nil
}

// get returns the part of the document that p points to, byte for byte.
func (p pointer) get(document json.RawMessage) (json.RawMessage, bool) {
	for _, token := range p {
		switch kindOf(document) {
		case '{':
			var object map[string]json.RawMessage
			if json.Unmarshal(document, &object) != nil {
				return nil, false
			}
			next, ok := object[token]
			if !ok {
				return nil, false
			}
			document = next
		case '[':
			var list []json.RawMessage
			i, err := strconv.ParseUint(token, 10, 31)
			if err != nil || strconv.FormatUint(i, 10) != token || json.Unmarshal(document, &list) != nil || i >= uint64(len(list)) {
				return nil, false
			}
			document = list[i]
		default:
			return nil, false
		}
	}
	return document, true
}

// put returns the document with the string s at p, which must not be there yet.
// Everything else keeps its bytes, except for the order of names.
func (p pointer) put(document json.RawMessage, s string) (json.RawMessage, error) {
	if len(p) == 0 {
		return json.Marshal(s)
	}
	if kindOf(document) != '{' {
		return nil, errors.New("is not inside an object")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(document, &object); err != nil {
		return nil, err
	}
	inner, ok := object[p[0]]
	switch {
	case !ok:
		inner = json.RawMessage("{}")
	case len(p) == 1:
		return nil, errors.New("is already there")
	}
	inner, err := p[1:].put(inner, s)
	if err != nil {
		return nil, err
	}
	object[p[0]] = inner
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// kindOf returns the first character of a JSON value, 0 if there is none.
func kindOf(document []byte) byte {
	document = bytes.TrimLeft(document, " \t\r\n")
	if len(document) == 0 {
		return 0
	}
	return document[0]
}
