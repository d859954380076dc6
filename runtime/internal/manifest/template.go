package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/pawl-dev/pawl/host/expr"
)

// maxText bounds a filled template, in characters: it goes into every list.
const maxText = 200

var fieldPath = regexp.MustCompile(`^input(\.[A-Za-z0-9_-]+)+$`)

// template is a text with fields of the input, such as "Refund {input.order}".
type template []part

// part is a text, or if path is not nil a field.
type part struct {
	text string
	path []string
}

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		text, rest, found := strings.Cut(s, "{")
		if strings.Contains(text, "}") {
			return nil, errors.New(`a "}" without its "{"`)
		}
		if text != "" {
			t = append(t, part{text: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return nil, errors.New(`a "{" without its "}"`)
		}
		if !fieldPath.MatchString(name) {
			return nil, fmt.Errorf(`{%s} is no field of the input; write it like {input.order}`, name)
		}
		t = append(t, part{path: strings.Split(name, ".")[1:]})
		s = after
	}
	return t, nil
}

// fill gives one line of printable text: the input comes from outside and the
// text goes to terminals and mails.
func (t template) fill(input any) string {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
		if p.path != nil {
			b.WriteString(textOf(lookup(input, p.path)))
		}
	}
	out := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, b.String()))
	if len(out) > maxText {
		out = append(out[:maxText-1], '…')
	}
	return strings.TrimSpace(string(out))
}

func lookup(v any, path []string) any {
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = object[name]
	}
	return v
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	text, err := expr.Encode(v)
	if err != nil {
		return ""
	}
	return string(text)
}
