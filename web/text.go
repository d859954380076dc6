package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// unseen reports whether a character is one that people cannot see and that may
// change what they see: controls, and those that format or turn the direction.
func unseen(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// visible shows the unseen characters of a text by their numbers.
func visible(s string) string {
	if strings.IndexFunc(s, unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unseen(r) {
			fmt.Fprintf(&b, "[U+%04X]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// visibleJSON is visible for JSON: it stays the same JSON.
func visibleJSON(s string) string {
	if strings.IndexFunc(s, unseen) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !unseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// cut shortens a text to so many characters, and says so with an ellipsis.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// counted is the noun with its number: "1 call", "2 calls".
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	from := len(s) - 3
	for ; from > 0 && s[from-1] != '-'; from -= 3 {
		s = s[:from] + "," + s[from:]
	}
	return s
}

// bytesOf writes a size.
func bytesOf(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	if i == 0 || f >= 100 {
		return fmt.Sprintf("%.0f %s", f, units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// words writes a name of the documents for people: needs_decision, needs decision.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// shownBody bounds what a page shows of one body, in bytes.
const shownBody = 8 << 10

// bodyView is a JSON body, or its beginning.
type bodyView struct {
	Text string
	Size string // of the whole
	More string // where the whole is, relative to the root; empty if this is it
}

// body makes the view of a JSON body; more is where the whole of it is.
func body(raw json.RawMessage, more string) *bodyView {
	if raw == nil {
		return nil
	}
	v := &bodyView{Size: bytesOf(int64(len(raw)))}
	text, whole := indent(raw, shownBody)
	if !whole || len(text) > shownBody {
		end := shownBody
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text, v.More = text[:end], more
	}
	v.Text = visibleJSON(text)
	return v
}

// indentable is how many times its size JSON may grow when the whole of it is
// indented.
const indentable = 8

// pretty indents JSON unless that would make too much of it.
func pretty(raw json.RawMessage) string {
	if text, whole := indent(raw, 4<<10+indentable*len(raw)); whole {
		return text
	}
	return string(raw)
}
