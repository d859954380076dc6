package host

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	escapes  = `"\/bfnrt`
	meanings = "\"\\/\b\f\n\r\t"
)

// str reads a string in quotes.
func (r *reader) str() (string, error) {
	r.at++
	var s []byte
	for {
		switch b := r.peek(); {
		case r.at == len(r.text):
			return "", r.errorf("a string is not closed")
		case b == '"':
			r.at++
			return string(s), nil
		case b < ' ':
			return "", r.errorf("a string has a control character that is not escaped")
		case b == '\\':
			c, err := r.escape()
			if err != nil {
				return "", err
			}
			s = utf8.AppendRune(s, c)
		default:
			c, n := utf8.DecodeRune(r.text[r.at:])
			if c == utf8.RuneError && n == 1 {
				return "", r.errorf("a string is not UTF-8")
			}
			s = append(s, r.text[r.at:r.at+n]...)
			r.at += n
		}
	}
}

// escape reads a backslash and what belongs to it.
func (r *reader) escape() (rune, error) {
	start := r.at
	r.at++
	b := r.peek()
	for i := range len(escapes) {
		if r.take(escapes[i]) {
			return rune(meanings[i]), nil
		}
	}
	if b != 'u' {
		return 0, r.errorf("a string has an unknown escape")
	}
	c, err := r.unit()
	if err != nil || !utf16.IsSurrogate(c) {
		return c, err
	}
	if r.take('\\') && r.peek() == 'u' {
		low, err := r.unit()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	return 0, &BodyError{Offset: start, Reason: "a string has half of a surrogate pair"}
}

// unit reads a u and four hexadecimal digits.
func (r *reader) unit() (rune, error) {
	r.at++
	if len(r.text)-r.at < 4 {
		return 0, r.errorf("a string ends within an escape")
	}
	var c rune
	for _, b := range r.text[r.at : r.at+4] {
		switch {
		case isDigit(b):
			c = c<<4 | rune(b-'0')
		case 'a' <= b|0x20 && b|0x20 <= 'f':
			c = c<<4 | rune(b|0x20-'a'+10)
		default:
			return 0, r.errorf("a string has an escape with other than four hexadecimal digits")
		}
	}
	r.at += 4
	return c, nil
}

// appendString writes a string as ECMAScript's JSON.stringify does.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b >= ' ':
			dst = append(dst, b)
		default:
			dst = appendControl(dst, b)
		}
	}
	return append(dst, '"')
}

func appendControl(dst []byte, b byte) []byte {
	for i := range len(meanings) {
		if meanings[i] == b {
			return append(dst, '\\', escapes[i])
		}
	}
	return fmt.Appendf(dst, `\u%04x`, b)
}
