package web

import (
	"encoding/json"
	"strings"
)

// indent writes JSON on lines of its own until about most bytes are written;
// whole is false if that was not all of it. What is no JSON stays as it is.
//
// Each level of nesting costs every line within it two bytes, so a few
// megabytes of it can become gigabytes: whoever asks has to say how much is
// wanted.
func indent(raw json.RawMessage, most int) (text string, whole bool) {
	if !json.Valid(raw) {
		return string(raw), true
	}
	var w indenter
	w.out.Grow(min(2*len(raw), most+1))
	for i := 0; i < len(raw); {
		if w.out.Len() > most {
			return w.out.String(), false
		}
		i += w.token(raw[i:])
	}
	return w.out.String(), true
}

// indenter writes tokens of valid JSON.
type indenter struct {
	out   strings.Builder
	depth int
	open  bool // the last token opened an object or an array
}

// token writes the token with which the text begins and returns its length.
func (w *indenter) token(text []byte) int {
	c := text[0]
	switch c {
	case ' ', '\t', '\r', '\n':
		return 1
	case '}', ']':
		w.depth--
		if !w.open {
			w.line()
		}
		w.open = false
		w.out.WriteByte(c)
		return 1
	}
	if w.open {
		w.line()
		w.open = false
	}
	switch c {
	case '{', '[':
		w.depth++
		w.open = true
		w.out.WriteByte(c)
	case ',':
		w.out.WriteByte(c)
		w.line()
	case ':':
		w.out.WriteString(": ")
	case '"':
		n := quoted(text)
		w.out.Write(text[:n])
		return n
	default: // of a number or a word
		w.out.WriteByte(c)
	}
	return 1
}

func (w *indenter) line() {
	w.out.WriteByte('\n')
	for range w.depth {
		w.out.WriteString("  ")
	}
}

// quoted is the length of the string with which the text begins.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}
