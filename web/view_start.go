package web

import (
	"encoding/json"
	"net/url"
	"strings"
)

// startView is the page with the form that starts a run.
type startView struct {
	Workflow, Version string
	Path              string // where the form is posted
	Title, Help       string // of the input
	Sets              []*fieldset
	JSON              *field // instead of the fields
	AsJSON, AsForm    string // links to the other way; empty where there is none
	ExternalID        string
	IDErrors          []string
	Errors            []string
	Once              string // tells this page from others
	Schema            *bodyView
}

// newStartView makes an empty form. An input that no form can have, or that
// the person would rather write as JSON, is one field.
func newStartView(workflow, version string, input json.RawMessage, asJSON bool) *startView {
	v := &startView{Workflow: workflow, Version: version, Path: startPath(workflow), Schema: body(input, "")}
	sets, top, ok := fieldsOf(input)
	v.Title, v.Help = visible(top.Title), visible(top.Description)
	if ok && !asJSON {
		v.Sets, v.AsJSON = sets, v.Path+"?as=json"
		for _, set := range sets {
			set.visible()
		}
		return v
	}
	v.JSON = &field{Name: "json", ID: "json", Label: "Input", Rule: "JSON", Kind: "json", Required: true, Value: "{\n}"}
	if ok {
		v.AsForm = v.Path
		v.Path += "?as=json"
	}
	return v
}

// visible shows the unseen characters of what the schema says; what is typed
// into the fields stays as it is.
func (s *fieldset) visible() {
	s.Legend, s.Help = visible(s.Legend), visible(s.Help)
	for _, f := range s.Fields {
		f.Label, f.Help, f.Rule = visible(f.Label), visible(f.Help), visible(f.Rule)
		for i := range f.Options {
			f.Options[i].Text = visible(f.Options[i].Text)
		}
	}
}

// read takes what was typed and returns the input; ok is false if it is not to
// be sent.
func (v *startView) read(form url.Values) (input json.RawMessage, ok bool) {
	v.ExternalID, v.Once = strings.TrimSpace(form.Get("id")), form.Get("once")
	if v.JSON == nil {
		return inputOf(v.Sets, form)
	}
	input = v.JSON.read(form)
	return input, input != nil
}

// fails puts what is wrong where it belongs.
func (v *startView) fails(p *problem) {
	switch {
	case p.Code == "input_conflict":
		v.IDErrors = append(v.IDErrors, "this id belongs to a run with another input: look at it, or give another id")
	case len(p.Errors) == 0:
		v.Errors = append(v.Errors, visible(p.Detail), p.Hint)
		for _, d := range p.Differences {
			v.Errors = append(v.Errors, visible(d.Pin+": "+d.What))
		}
	}
	for _, e := range p.Errors {
		if e.Pointer == "/id" {
			v.IDErrors = append(v.IDErrors, visible(e.Message))
			continue
		}
		pointer := strings.TrimPrefix(e.Pointer, "/input")
		if f := v.field(pointer); f != nil {
			f.fails(visible(e.Message))
			continue
		}
		v.Errors = append(v.Errors, visible(strings.TrimPrefix(pointer+": "+e.Message, ": ")))
	}
}

// field is the one whose value the pointer is about, or is within.
func (v *startView) field(pointer string) *field {
	for _, set := range v.Sets {
		for _, f := range set.Fields {
			if pointer == f.Pointer || strings.HasPrefix(pointer, f.Pointer+"/") {
				return f
			}
		}
	}
	return v.JSON
}
