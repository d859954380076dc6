package web

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// runView is the page of one run.
type runView struct {
	Title, ExternalID, Run string
	State                  badge
	Workflow, Digest       string
	WorkflowLink           string
	Labels                 []labelView
	Started, Updated       *moment
	Took                   string // of an ended run
	Seq                    string
	Why                    []whyView
	Actions                []actionView
	NoAction               string // why there is none, of a run that does not go on
	Differences            []pawl.Difference
	Error                  *errorView
	Steps                  []stepView
	Orphans                []callView
	Budgets                []budgetView
	Deadline               *moment
	Input, Output          *bodyView
	Pins                   []factView
	Upgrades               []upgradeView
	Document               *bodyView
	API                    string // of the document
}

// whyView says why a run is not moving.
type whyView struct {
	Sentence, Help, Waker string
	At                    *moment
}

// actionView is what a person may do now.
type actionView struct {
	ID, Label     string
	Path          string // where it is posted, relative to the root
	Does, DoesNot []string
	Seen          string
}

// errorView is the last failed attempt.
type errorView struct {
	Code, Message, Step, Kind string
	Attempt                   int
	Overcome                  bool // the run has ended all the same
	At                        *moment
	Detail                    *bodyView
}

// factView is a value with its name.
type factView struct{ Name, Value string }

type upgradeView struct {
	At       *moment
	From, To string
}

// shownDocument bounds the document on the page: it is there to be copied.
const shownDocument = 64 << 10

// newRunView makes the view of a run from its document and what its guests
// logged.
func newRunView(c *pawl.Checkpoint, logs []pawl.LogLine, now time.Time) *runView {
	path := runPath(c.Run)
	v := &runView{
		Title: c.Title, ExternalID: c.ExternalID, Run: c.Run, State: stateBadge(c.State),
		Workflow: c.Workflow.Name + " " + c.Workflow.Version, Digest: c.Workflow.Digest, WorkflowLink: "workflows#" + url.PathEscape(c.Workflow.Name),
		Labels: labelViews(c.Labels, ""), Started: at(c.Started, now), Updated: at(c.Updated, now), Seq: grouped(int64(c.Seq)),
		Actions: actionViews(c, path), Differences: c.Differences, Error: newErrorView(c.LastError, now),
		Budgets: budgetViews(&c.Budgets), Pins: pinViews(&c.Pins), API: "api/v1/" + path,
		Input: body(c.Input, path+"/body?of=input"), Output: body(c.Output(), path+"/body?of=output"),
	}
	if v.Error != nil {
		v.Error.Overcome = c.State == pawl.StateCompleted
	}
	if v.Title == "" {
		v.Title = c.ExternalID
	}
	if c.State == pawl.StateCompleted {
		v.Took = lasted(c.Updated.Sub(c.Started))
	}
	if c.Budgets.Deadline != nil {
		v.Deadline = at(*c.Budgets.Deadline, now)
	}
	for i := range c.Reasons {
		v.Why = append(v.Why, newWhy(&c.Reasons[i], now))
	}
	if len(v.Actions) == 0 {
		v.NoAction = noAction(c)
	}
	for i := range c.Steps {
		v.Steps = append(v.Steps, newStepView(&c.Steps[i], linesOf(logs, c.Steps[i].Name), path, now))
	}
	for i := range c.Orphans {
		o := newCallView(&c.Orphans[i].CallCheckpoint, place{path: path, step: c.Orphans[i].Step, list: "orphan", i: i}, time.Time{}, now)
		o.Step = c.Orphans[i].Step
		v.Orphans = append(v.Orphans, o)
	}
	for _, u := range c.Upgrades {
		v.Upgrades = append(v.Upgrades, upgradeView{at(u.At, now), u.From, u.To})
	}
	v.mark(c.Reasons)
	v.Document = documentView(c, v.API)
	return v
}

// mark opens the calls that the reasons are about.
func (v *runView) mark(reasons []pawl.Reason) {
	for _, r := range reasons {
		for i := range v.Steps {
			if s := &v.Steps[i]; r.Call != nil && s.Name == r.Step && *r.Call >= 0 && *r.Call < len(s.Calls) {
				s.Calls[*r.Call].Marked = true
			}
		}
	}
}

func newWhy(r *pawl.Reason, now time.Time) whyView {
	w := whyView{Sentence: r.Sentence, Help: r.Help, Waker: wakerText(r.Waker)}
	if r.At != nil {
		w.At = at(*r.At, now)
	}
	return w
}

func actionViews(c *pawl.Checkpoint, path string) []actionView {
	var out []actionView
	for _, a := range c.Actions {
		if a.Action != "resume" {
			continue // this panel cannot do it
		}
		out = append(out, actionView{
			ID: "act-" + a.Action, Label: "Resume", Path: path + "/" + a.Action, Does: clauses(a.Does),
			DoesNot: clauses(a.DoesNot), Seen: a.Seen,
		})
	}
	return out
}

// clauses takes the parts of a sentence apart.
func clauses(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "; ")
}

// noAction says why a run that does not move has no action.
func noAction(c *pawl.Checkpoint) string {
	switch c.State {
	case pawl.StateIncompatible:
		return "Nothing can be done here: run the program with the tools and modules that the run was begun with, or move it to another version (pawl resume --upgrade)."
	case pawl.StateHeld:
		return "Nothing is executed on a held store. Go on with the store that it was copied from."
	case pawl.StateFailed:
		return "This run holds as it is: what it did stays done and listed below."
	case pawl.StateNeedsDecision:
		return "The machine does not go on with this by itself, and a decision cannot be recorded here yet. The run stays as it is; nothing is sent."
	}
	return ""
}

func newErrorView(e *pawl.LastError, now time.Time) *errorView {
	if e == nil {
		return nil
	}
	return &errorView{
		Code: e.Code, Message: e.Message, Step: e.Step, Kind: e.Kind, Attempt: e.Attempt, At: at(e.At, now), Detail: body(e.Detail, ""),
	}
}

func pinViews(p *pawl.Pins) []factView {
	var out []factView
	for name, digest := range p.Modules {
		out = append(out, factView{"module " + name, digest})
	}
	for name, digest := range p.Tools {
		out = append(out, factView{"tool " + name, digest})
	}
	slices.SortFunc(out, func(a, b factView) int { return strings.Compare(a.Name, b.Name) })
	return append(out, factView{"ABI", counts(p.ABI)}, factView{"sandbox semantics", counts(p.Semantics)},
		factView{"state format", counts(p.StateFormat)}, factView{"architecture", p.Arch})
}

func counts(n int) string { return grouped(int64(n)) }

// documentView is the checkpoint document to copy, if it is small enough.
func documentView(c *pawl.Checkpoint, more string) *bodyView {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	v := &bodyView{Size: bytesOf(int64(len(raw))), More: more}
	if len(raw) <= shownDocument {
		v.Text = visibleJSON(pretty(raw))
	}
	return v
}
