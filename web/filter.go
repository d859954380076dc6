package web

import (
	"net/url"
	"strings"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// filter is what selects the runs of a page, as its address says it.
type filter struct {
	pawl.Query
	label string // as it was typed: name=value
}

// newFilter reads an address.
func newFilter(q url.Values) filter {
	f := filter{label: strings.TrimSpace(q.Get("label"))}
	f.State, f.Reason = pawl.RunState(q.Get("state")), strings.TrimSpace(q.Get("reason"))
	f.Workflow, f.Text = strings.TrimSpace(q.Get("workflow")), strings.TrimSpace(q.Get("text"))
	f.After = q.Get("cursor")
	f.Label, f.Value, _ = strings.Cut(f.label, "=")
	return f
}

// set reports whether the filter leaves anything out.
func (f filter) set() bool {
	return f.State != "" || f.Reason != "" || f.Workflow != "" || f.label != "" || f.Text != ""
}

func (f filter) values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{
		"state": string(f.State), "reason": f.Reason, "workflow": f.Workflow, "label": f.label, "text": f.Text,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// with is the address of the same selection with one value more.
func (f filter) with(name, value string) string {
	q := f.values()
	if value != "" {
		q.Set(name, value)
	}
	return address(q)
}

// selecting is the address of the same selection of another state.
func (f filter) selecting(state pawl.RunState, reason string) string {
	f.State, f.Reason = state, reason
	return address(f.values())
}

func address(q url.Values) string {
	if len(q) == 0 {
		return "./"
	}
	return "./?" + q.Encode()
}

func (f filter) view() filterView {
	v := filterView{State: string(f.State), Reason: f.Reason, Workflow: f.Workflow, Label: f.label, Text: f.Text}
	v.States = append(v.States, option{"", "any state", f.State == ""})
	for _, s := range pawl.RunStates() {
		v.States = append(v.States, option{string(s), stateBadge(s).Text, f.State == s})
	}
	return v
}
