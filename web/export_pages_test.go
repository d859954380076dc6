package web

import (
	"encoding/json"
	"net/url"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Fixed are the pages of documents that do not change.
type Fixed struct {
	Now       time.Time
	templates templates
}

// NewFixed shows pages as they are at a moment.
func NewFixed(now time.Time) *Fixed { return &Fixed{now, readTemplates()} }

func (f *Fixed) html(name, title string, body any) string {
	html, err := f.templates.html(name, &page{
		Title: title, Engine: "ops.example", User: "ana", Root: "../", Nav: navOf(name), CSRF: "token", Body: body,
		Self: "self", Events: "events", Live: true, typed: name == pageStart,
	})
	if err != nil {
		panic(err)
	}
	return string(html)
}

// Run is the page of a run.
func (f *Fixed) Run(c *pawl.Checkpoint, logs []pawl.LogLine) string {
	return f.html(pageRun, c.Title, newRunView(c, logs, f.Now))
}

// Runs is the page of a list.
func (f *Fixed) Runs(p *pawl.Page, query string, h *pawl.Health) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	v := newRunsView(p, newFilter(values), f.Now)
	v.Alarm = newAlarm(h)
	return f.html(pageRuns, "Runs", v)
}

// Workflows is the page of workflows.
func (f *Fixed) Workflows(all []pawl.WorkflowDocument) string {
	return f.html(pageWorkflows, "Workflows", newWorkflowsView(all, f.Now))
}

// Start is the form of an input schema after form was sent, if it is not nil.
// What does not fit is said of the pointers.
func (f *Fixed) Start(schema json.RawMessage, form url.Values, wrong ...string) string {
	v := newStartView("refund", "1.0.0", schema, false)
	v.Once = "once"
	if form != nil {
		v.read(form)
	}
	if len(wrong) > 0 {
		p := &problem{Code: "invalid_input"}
		for _, pointer := range wrong {
			p.Errors = append(p.Errors, inputProblem{"/input" + pointer, "does not fit"})
		}
		v.fails(p)
	}
	return f.html(pageStart, "Start refund", v)
}

// Health is the page of an engine's health.
func (f *Fixed) Health(h *pawl.Health) string {
	return f.html(pageHealth, "Health", newHealthView(h, f.Now))
}

// Problem is the page of an error.
func (f *Fixed) Problem(err error) string {
	return f.html(pageProblem, "Problem", newProblemView(new(server).problemOf(err)))
}

// Input is what a form says that was made of the schema; ok is false if a field
// cannot be read.
func Input(schema json.RawMessage, form url.Values) (input json.RawMessage, ok bool) {
	return newStartView("w", "1", schema, false).read(form)
}

// Visible, Relative and HTMLPattern are what their names say in small letters.
func Visible(s string) string              { return visible(s) }
func VisibleJSON(s string) string          { return visibleJSON(s) }
func Relative(ago time.Duration) string    { return relative(ago) }
func HTMLPattern(pattern string) string    { return htmlPattern(pattern) }
func Grouped(n int64) string               { return grouped(n) }
func OnceID(o, w string, in string) string { return onceID(o, w, json.RawMessage(in)) }
