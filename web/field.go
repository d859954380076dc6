package web

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// field is a field of the form that starts a run.
type field struct {
	Pointer  string // of the value in the input
	Name, ID string
	Label    string
	Help     string
	Rule     string // what the value must be like
	Kind     string // text, number, area, choice, check, lines or json
	Type     string // of a text: text, email, url or date
	Required bool
	Need     string // what people are told of that
	Min, Max string
	Step     string
	Longest  int // characters
	Shortest int
	Pattern  string // as HTML wants it
	Options  []option
	Value    string
	Checked  bool
	Errors   []string

	path    []string // of names
	integer bool
}

// fieldset is an object of the input.
type fieldset struct {
	Legend, Help string
	Fields       []*field

	pointer string
	path    []string
	must    bool // it is there even if it is empty
}

// deepest is how far objects within objects become fields of their own.
const deepest = 3

// mostFields is how many fields a form can have. A schema of a few lines that
// refers to itself would have any number of them.
const mostFields = 200

// longArea is from how many characters on a text has several lines.
const longArea = 200

// fieldsOf makes the fields of an input schema; ok is false if it is none of an
// object whose properties a form can have.
func fieldsOf(raw json.RawMessage) (sets []*fieldset, top schema, ok bool) {
	s := &schemas{root: raw, objects: map[string]map[string]json.RawMessage{}}
	top, ok = s.read(raw)
	if !ok || top.Type != "object" || len(top.Properties) == 0 {
		return nil, top, false
	}
	sets = s.sets(nil, &fieldset{must: true}, top)
	return sets, top, s.fields <= mostFields
}

// sets makes the fieldset of an object and those of the objects in it, as long
// as that are not too many fields.
func (s *schemas) sets(sets []*fieldset, set *fieldset, o schema) []*fieldset {
	sets = append(sets, set)
	for _, p := range o.Properties {
		if s.fields > mostFields {
			break
		}
		required := slices.Contains(o.Required, p.name)
		sub, ok := s.read(p.raw)
		path := append(slices.Clone(set.path), p.name)
		if ok && sub.Type == "object" && len(sub.Properties) > 0 && len(path) < deepest {
			inner := &fieldset{
				Legend: labelOf(sub, p.name), Help: sub.Description, pointer: pointerTo(path), path: path, must: set.must && required,
			}
			if set.Legend != "" {
				inner.Legend = set.Legend + ": " + inner.Legend
			}
			if !inner.must {
				inner.Help = strings.TrimSpace(inner.Help + " May be left empty as a whole.")
			}
			sets = s.sets(sets, inner, sub)
			continue
		}
		f := s.field(path, sub, ok, required && set.must)
		s.fields++
		switch {
		case !required:
			f.Need = "optional"
		case !set.must:
			f.Need = "needed if anything else of this is given"
		}
		set.Fields = append(set.Fields, f)
	}
	return sets
}

func labelOf(s schema, name string) string {
	if s.Title != "" {
		return s.Title
	}
	return words(name)
}

func pointerTo(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// field makes the field of one value.
func (s *schemas) field(path []string, sub schema, understood, required bool) *field {
	pointer := pointerTo(path)
	f := &field{
		Pointer: pointer, Name: "in" + pointer, ID: idOf(pointer), Label: labelOf(sub, path[len(path)-1]), Help: sub.Description,
		Required: required, path: path, Kind: "json",
	}
	switch {
	case !understood:
		f.Rule = "JSON"
	case len(sub.Enum) > 0 || sub.Const != nil:
		f.choice(sub)
	case sub.Type == "boolean":
		f.boolean()
	case sub.Type == "integer" || sub.Type == "number":
		f.number(sub)
	case sub.Type == "string":
		f.text(sub)
	case sub.Type == "array" && s.texts(sub.Items):
		f.Kind, f.Rule = "lines", "one on each line"
	default:
		f.Rule = "JSON"
	}
	if f.Value == "" && sub.Default != nil {
		f.preset(sub.Default)
	}
	return f
}

var notOfID = regexp.MustCompile(`[^A-Za-z0-9]+`)

func idOf(pointer string) string { return "in" + notOfID.ReplaceAllString(pointer, "-") }

// texts reports whether a schema is that of plain texts.
func (s *schemas) texts(raw json.RawMessage) bool {
	item, ok := s.read(raw)
	return ok && item.Type == "string" && len(item.Enum) == 0
}

func (f *field) choice(sub schema) {
	f.Kind = "choice"
	values := sub.Enum
	if sub.Const != nil {
		values = []json.RawMessage{sub.Const}
	}
	f.Options = append(f.Options, option{"", "choose", true})
	for _, v := range values {
		text := string(v)
		var s string
		if json.Unmarshal(v, &s) == nil {
			text = s
		}
		f.Options = append(f.Options, option{Value: string(v), Text: text})
	}
}

// boolean is a box to tick where there must be an answer, else a choice that can
// be left open.
func (f *field) boolean() {
	if f.Required {
		f.Kind, f.Required = "check", false // not ticked is an answer
		return
	}
	f.Kind = "choice"
	f.Options = []option{{"", "not given", true}, {"true", "yes", false}, {"false", "no", false}}
}

func (f *field) number(sub schema) {
	f.Kind, f.Step, f.integer = "number", "any", sub.Type == "integer"
	if f.integer {
		f.Step = "1"
	}
	f.Min, f.Max = string(sub.Minimum), string(sub.Maximum)
	kind := "a number"
	if f.integer {
		kind = "a whole number"
	}
	switch {
	case f.Min != "" && f.Max != "":
		f.Rule = kind + " from " + f.Min + " to " + f.Max
	case f.Min != "":
		f.Rule = kind + ", at least " + f.Min
	case f.Max != "":
		f.Rule = kind + ", at most " + f.Max
	default:
		f.Rule = kind
	}
}

func (f *field) text(sub schema) {
	f.Kind, f.Type, f.Longest, f.Shortest = "text", "text", sub.MaxLength, sub.MinLength
	if sub.MaxLength == 0 && sub.Pattern == "" && sub.Format == "" || sub.MaxLength > longArea {
		f.Kind = "area"
	}
	var rules []string
	switch sub.Format {
	case "email", "date":
		f.Type = sub.Format
	case "uri":
		f.Type = "url"
	case "":
	default:
		rules = append(rules, "as "+sub.Format)
	}
	switch {
	case sub.MinLength > 0 && sub.MaxLength > 0:
		rules = append(rules, fmt.Sprintf("%d to %d characters", sub.MinLength, sub.MaxLength))
	case sub.MinLength > 1:
		rules = append(rules, fmt.Sprintf("at least %d characters", sub.MinLength))
	case sub.MaxLength > 0:
		rules = append(rules, fmt.Sprintf("at most %d characters", sub.MaxLength))
	}
	if sub.Pattern != "" {
		f.Pattern = htmlPattern(sub.Pattern)
		rules = append(rules, "pattern "+sub.Pattern)
	}
	f.Rule = strings.Join(rules, ", ")
}

// plainPattern are the patterns that browsers read as JSON Schema does: whole,
// and without characters that their stricter syntax wants escaped.
var plainPattern = regexp.MustCompile(`^\^(?:[A-Za-z0-9 _]|\[(?:[A-Za-z0-9_](?:-[A-Za-z0-9])?)+\]|\\[dw.]|[(){}?*+|,.])+\$$`)

func htmlPattern(p string) string {
	if !plainPattern.MatchString(p) || strings.Contains(p, "|") && !strings.Contains(p, "(") {
		return "" // the engine checks it
	}
	return strings.TrimSuffix(strings.TrimPrefix(p, "^"), "$")
}
