package httptool

import (
	"fmt"
	"strings"
)

// template is text with {names} in it.
type template []part

// part is literal text or, if name is not empty, a place for a value.
type part struct{ text, name string }

func parseTemplate(s string) (template, error) {
	var t template
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			return append(t, part{text: s}), nil
		}
		if i > 0 {
			t = append(t, part{text: s[:i]})
		}
		if s[i] == '}' {
			return nil, fmt.Errorf("a } without its { before %q", s[i:])
		}
		name, rest, ok := strings.Cut(s[i+1:], "}")
		if !ok {
			return nil, fmt.Errorf("a { without its } in %q", s[i:])
		}
		if name == "" || strings.ContainsAny(name, "{ \t\r\n") {
			return nil, fmt.Errorf("{%s} is no name of a field", name)
		}
		t = append(t, part{name: name})
		s = rest
	}
	return t, nil
}

// names lists the names in their order.
func (t template) names() []string {
	var names []string
	for _, p := range t {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// expand puts in the values.
func (t template) expand(value func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, err := value(p.name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

func (t template) String() string {
	s, _ := t.expand(func(name string) (string, error) { return "{" + name + "}", nil })
	return s
}
