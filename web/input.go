package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// read takes what was typed into the field, to be shown again, and returns it as
// JSON; nil if nothing was given. What cannot be JSON is an error of the field.
func (f *field) read(form url.Values) json.RawMessage {
	f.Value = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
	f.Checked = f.Value != ""
	for i := range f.Options {
		f.Options[i].Selected = f.Options[i].Value == f.Value
	}
	trimmed := strings.TrimSpace(f.Value)
	switch {
	case f.Kind == "check":
		return quote(f.Checked)
	case trimmed == "" && f.Required:
		f.fails("this is required")
		return nil
	case trimmed == "":
		return nil
	}
	switch f.Kind {
	case "text", "area":
		return quote(f.Value)
	case "lines":
		return quote(linesIn(f.Value))
	case "number":
		return f.readNumber(trimmed)
	case "choice":
		if !slices.ContainsFunc(f.Options, func(o option) bool { return o.Value == f.Value }) {
			f.fails("choose one of the list")
			return nil
		}
	}
	if why := notJSON(trimmed); why != "" {
		f.fails("this is no JSON, in which texts are written in quotes: " + why)
		return nil
	}
	return json.RawMessage(trimmed)
}

// notJSON says why a text is not JSON and where; empty if it is.
func notJSON(s string) string {
	var wrong *json.SyntaxError
	if err := json.Unmarshal([]byte(s), new(json.RawMessage)); !errors.As(err, &wrong) {
		return ""
	}
	before := s[:min(max(int(wrong.Offset)-1, 0), len(s))]
	return fmt.Sprintf("%v, in line %d at byte %d", wrong, strings.Count(before, "\n")+1, len(before)-strings.LastIndex(before, "\n"))
}

func (f *field) fails(why string) { f.Errors = append(f.Errors, why) }

func (f *field) readNumber(s string) json.RawMessage {
	s = strings.TrimPrefix(s, "+")
	var n json.Number
	if json.Unmarshal([]byte(s), &n) != nil || s[0] == '"' {
		f.fails("write it as a number, such as 12 or 0.5")
		f.Kind, f.Type = "text", "text" // a field of numbers would not show it
		return nil
	}
	return json.RawMessage(s)
}

// preset fills the field in with a JSON value.
func (f *field) preset(raw json.RawMessage) {
	var text string
	var lines []string
	switch {
	case f.Kind == "check":
		f.Checked = string(raw) == "true"
	case (f.Kind == "text" || f.Kind == "area") && json.Unmarshal(raw, &text) == nil:
		f.Value = text
	case f.Kind == "lines" && json.Unmarshal(raw, &lines) == nil:
		f.Value = strings.Join(lines, "\n")
	default:
		f.Value = string(raw)
	}
	for i := range f.Options {
		f.Options[i].Selected = f.Options[i].Value == f.Value
	}
}

func linesIn(s string) []string {
	out := []string{}
	for _, line := range strings.Split(s, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// quote writes a text, a list of texts or a boolean as JSON.
func quote(v any) json.RawMessage {
	raw, _ := json.Marshal(v) // these always can be
	return raw
}

// inputOf puts the input together from what was typed into the fields; ok is
// false if one of them cannot be read.
func inputOf(sets []*fieldset, form url.Values) (input json.RawMessage, ok bool) {
	ok = true
	root := map[string]any{}
	for _, set := range sets {
		if set.must {
			object(root, set.path)
		}
		for _, f := range set.Fields {
			value := f.read(form)
			ok = ok && len(f.Errors) == 0
			if value != nil {
				object(root, f.path[:len(f.path)-1])[f.path[len(f.path)-1]] = value
			}
		}
	}
	input, err := json.Marshal(root)
	return input, ok && err == nil
}

// object returns the object at the path, made if it is not there.
func object(root map[string]any, path []string) map[string]any {
	for _, name := range path {
		inner, there := root[name].(map[string]any)
		if !there {
			inner = map[string]any{}
			root[name] = inner
		}
		root = inner
	}
	return root
}
