package httptool

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// maxNested is how many levels of JSON in strings of JSON are looked into. A
// text can have millions of levels, each but a few bytes shorter than the one
// around it.
const maxNested = 3

// cutter removes the values of secrets, in the forms in which they come back.
type cutter struct {
	forms  []form
	spaces bool // one of the values has a space, which forms write as +
}

type form struct{ text, mark string }

func newCutter(values map[string]string) *cutter {
	c := &cutter{}
	for name, v := range values {
		for _, text := range encodings(v) {
			c.forms = append(c.forms, form{text, "[secret " + name + "]"})
		}
		c.spaces = c.spaces || strings.Contains(v, " ")
	}
	// Which mark a place gets must not change from one reading to the next.
	slices.SortFunc(c.forms, func(a, b form) int {
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.text, b.text), strings.Compare(a.mark, b.mark))
	})
	return c
}

// encodings returns how a value looks as it is, in JSON as most encoders write
// it, and within base64 text.
func encodings(v string) []string {
	v = within(v)
	quoted, _ := json.Marshal(v) // a string always has a JSON form
	inner := string(quoted[1 : len(quoted)-1])
	list := []string{v, inner, strings.ReplaceAll(inner, "/", `\/`)}
	for shift := range 3 {
		// The value begins at any byte of a group of three; characters that its
		// neighbours have a part in are left away.
		text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), v...))
		text = text[(shift*8+5)/6 : (shift+len(v))*8/6]
		list = append(list, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// text cuts the values out of a message.
func (c *cutter) text(s string) string { return string(c.body([]byte(s))) }

// body cuts the values out of an answer, whatever its type says it is.
func (c *cutter) body(b []byte) []byte { return c.level(b, maxNested) }

// level cuts the values out of a text in which others are nested so deep.
func (c *cutter) level(b []byte, depth int) []byte { return c.cut(c.unescaped(b, depth)) }

// span is a stretch of a text that is to be cut out.
type span struct {
	from, to int
	mark     string
}

// cut takes out every form, as it stands and percent-encoded. All are found
// before one is taken out, so that of two values that overlap nothing is left.
func (c *cutter) cut(b []byte) []byte {
	spans := c.find(b)
	for _, plus := range []bool{false, true} {
		if plus && !c.spaces {
			continue
		}
		if decoded := percentDecoded(b, plus); decoded != nil {
			spans = append(spans, encodedSpans(b, c.find(decoded))...)
		}
	}
	if len(spans) == 0 {
		return b
	}
	slices.SortStableFunc(spans, func(x, y span) int { return cmp.Or(x.from-y.from, y.to-x.to) })
	var out []byte
	end := 0
	for _, s := range spans {
		if s.from >= end {
			out = append(append(out, b[end:s.from]...), s.mark...)
		}
		end = max(end, s.to)
	}
	return append(out, b[end:]...)
}

// find returns where the forms are. Where one overlaps itself that is one place:
// a receiver that says aaaaaaaa a million times must not cost a million of them.
func (c *cutter) find(b []byte) []span {
	var spans []span
	for _, f := range c.forms {
		first := len(spans)
		for from := 0; ; from++ {
			i := bytes.Index(b[from:], []byte(f.text))
			if i < 0 {
				break
			}
			from += i
			if last := len(spans) - 1; last >= first && from < spans[last].to {
				spans[last].to = from + len(f.text)
				continue
			}
			spans = append(spans, span{from, from + len(f.text), f.mark})
		}
	}
	return spans
}

// percentDecoded undoes percent-encoding, and the + of forms if asked to;
// encoders differ in what they encode and in which case they write it. Nil if
// there is nothing to undo.
func percentDecoded(b []byte, plus bool) []byte {
	if bytes.IndexByte(b, '%') < 0 && (!plus || bytes.IndexByte(b, '+') < 0) {
		return nil
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i += encodedLen(b, i) {
		out = append(out, decodedByte(b, i, plus))
	}
	return out
}

// encodedLen is how many bytes the character at i takes.
func encodedLen(b []byte, i int) int {
	if b[i] == '%' && i+2 < len(b) && isHex(b[i+1]) && isHex(b[i+2]) {
		return 3
	}
	return 1
}

func decodedByte(b []byte, i int, plus bool) byte {
	switch {
	case encodedLen(b, i) == 3:
		return unhex(b[i+1])<<4 | unhex(b[i+2])
	case plus && b[i] == '+':
		return ' '
	}
	return b[i]
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&7 + 9
}

// encodedSpans turns places in the decoded text into places in b.
func encodedSpans(b []byte, spans []span) []span {
	if len(spans) == 0 {
		return nil
	}
	var at []int
	for i := 0; i < len(b); i += encodedLen(b, i) {
		at = append(at, i)
	}
	at = append(at, len(b))
	for i, s := range spans {
		spans[i].from, spans[i].to = at[s.from], at[s.to]
	}
	return spans
}

// unescaped cuts the values out of what is written with JSON's escapes. It
// looks at each stretch between quotes and control characters: in JSON those
// are the strings. All others keep their bytes, and the whole may be broken
// JSON, several texts in a row, or a sentence with JSON in it.
func (c *cutter) unescaped(b []byte, depth int) []byte {
	if len(c.forms) == 0 || depth == 0 || !bytes.Contains(b, []byte(`\`)) {
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
	if json.Unmarshal(slices.Concat([]byte{'"'}, lenient(b), []byte{'"'}), &text) != nil {
		return b
	}
	cut := string(c.level([]byte(text), depth-1))
	if cut == text {
		return b
	}
	quoted, _ := json.Marshal(cut) // a string always has a JSON form
	return quoted[1 : len(quoted)-1]
}

// lenient doubles each backslash that begins no escape of JSON's: a text may
// break off within one, be a path, or have escapes of JavaScript's. The others
// are undone all the same.
func lenient(b []byte) []byte {
	out := make([]byte, 0, len(b)+1)
	for i := 0; i < len(b); {
		n := 1
		if b[i] == '\\' {
			if n = escapeLen(b[i:]); n == 0 {
				out, n = append(out, '\\'), 1
			}
		}
		out = append(out, b[i:i+n]...)
		i += n
	}
	return out
}

// escapeLen is the length of the JSON escape with which b begins, 0 for none.
func escapeLen(b []byte) int {
	switch {
	case len(b) >= 2 && strings.IndexByte(`"\/bfnrt`, b[1]) >= 0:
		return 2
	case len(b) >= 6 && b[1] == 'u' && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]):
		return 6
	}
	return 0
}
