package web

import (
	"cmp"
	"net/url"
	"slices"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// runsView is the page of runs.
type runsView struct {
	Alarm    *alarm
	Counts   []countView
	Filter   filterView
	Filtered bool
	Groups   []groupView
	First    string // links; empty where there is none
	Next     string
	Workflow string // the workflow to start, of an empty list
	Empty    bool   // nothing was ever started
	None     bool   // nothing is selected
}

// countView is how many runs are in a state, as a link that selects them.
type countView struct {
	State   badge
	Runs    string
	Link    string
	Current bool
	Reasons []reasonCount
	Others  string // "3 more reasons", or empty
}

type reasonCount struct {
	Text, Runs, Link string
	Current          bool
}

// groupView are runs under one heading.
type groupView struct {
	ID, Title string
	Column    string // what it says of each run
	Runs      []rowView
}

// rowView is a run in the list.
type rowView struct {
	State      badge
	Title      string
	Link       string
	ExternalID string
	Labels     []labelView
	Workflow   string
	Why        string
	Waker      string
	At         *moment
	Step       string
	Updated    *moment
}

type labelView struct{ Name, Value, Link string }

// filterView is what the form of the filter shows.
type filterView struct {
	State, Reason, Workflow, Label, Text string
	States                               []option
}

type option struct {
	Value, Text string
	Selected    bool
}

const (
	shownReasons = 6
	shownTitle   = 160
	shownWhy     = 400
)

// newRunsView makes the view of a page of the runs that f selects.
func newRunsView(p *pawl.Page, f filter, now time.Time) *runsView {
	v := &runsView{
		Filter: f.view(), Filtered: f.set(), Counts: countViews(p.Counts, f),
		Empty: len(p.Items) == 0 && !f.set() && f.After == "", None: len(p.Items) == 0,
	}
	if f.After != "" {
		v.First = f.with("cursor", "")
	}
	if p.Next != "" {
		v.Next = f.with("cursor", p.Next)
	}
	for i := range p.Items {
		if next := groupOf(&p.Items[i]); len(v.Groups) == 0 || v.Groups[len(v.Groups)-1].ID != next.ID {
			v.Groups = append(v.Groups, next)
		}
		g := &v.Groups[len(v.Groups)-1]
		g.Runs = append(g.Runs, newRow(&p.Items[i], now))
	}
	return v
}

// wakerPerson is the waker of a run that does not go on by itself.
const wakerPerson = "operator"

// groupOf is the group of a run. The list is in the order of the groups.
func groupOf(s *pawl.Summary) groupView {
	switch {
	case s.Unreadable != "" || len(s.Reasons) > 0 && s.Reasons[0].Waker == wakerPerson:
		return groupView{ID: "stuck", Title: "Do not go on by themselves", Column: "Why it is not moving"}
	case s.State == pawl.StateCompleted:
		return groupView{ID: "ended", Title: "Ended", Column: "How long it took"}
	}
	return groupView{ID: "open", Title: "Go on by themselves", Column: "Where it is"}
}

func newRow(s *pawl.Summary, now time.Time) rowView {
	r := rowView{
		State: stateBadge(s.State), Title: cut(cmp.Or(s.Title, s.ExternalID, s.Run, "a run without an id"), shownTitle),
		ExternalID: s.ExternalID, Workflow: s.Workflow.Name, Step: s.ResumeFrom, Updated: at(s.Updated, now),
		Labels: labelViews(s.Labels, "./"),
	}
	if s.Workflow.Version != "" {
		r.Workflow += " " + s.Workflow.Version
	}
	if s.Run != "" {
		r.Link = runPath(s.Run)
	}
	if s.Unreadable != "" {
		r.State, r.Why = stateBadge(""), cut(s.Unreadable, shownWhy)
		return r
	}
	if s.State == pawl.StateCompleted {
		r.Why = lasted(s.Updated.Sub(s.Started))
	}
	if len(s.Reasons) > 0 {
		why := &s.Reasons[0]
		r.Why, r.Waker = cut(why.Sentence, shownWhy), wakerText(why.Waker)
		if why.At != nil {
			r.At = at(*why.At, now)
		}
	}
	return r
}

// runPath is where a run is, relative to the root.
func runPath(run string) string { return "runs/" + url.PathEscape(run) }

// wakerText says who moves a run on.
func wakerText(waker string) string {
	switch waker {
	case wakerPerson:
		return "a person"
	case "timer":
		return "the clock"
	case "engine":
		return "the engine"
	}
	return waker
}

// labelViews are a run's labels, each a link to the runs that have it.
func labelViews(labels map[string]string, root string) []labelView {
	var out []labelView
	for name, value := range labels {
		if value == "" {
			continue
		}
		q := url.Values{"label": {name + "=" + value}}
		out = append(out, labelView{name, cut(value, 60), root + "?" + q.Encode()})
	}
	slices.SortFunc(out, func(a, b labelView) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// countViews are the counts by state, those that need people first.
func countViews(counts []pawl.Count, f filter) []countView {
	runs, reasons := map[pawl.RunState]int{}, map[pawl.RunState][]pawl.Count{}
	all := 0
	for _, c := range counts {
		all += c.Runs
		runs[c.State] += c.Runs
		if c.Reason != "" {
			reasons[c.State] = append(reasons[c.State], c)
		}
	}
	if all == 0 {
		return nil
	}
	out := []countView{{State: badge{Sign: "Σ", Text: "all", Tone: "plain"}, Runs: grouped(int64(all)), Link: f.selecting("", ""), Current: f.State == "" && f.Reason == ""}}
	for _, state := range pawl.RunStates() {
		if runs[state] == 0 {
			continue
		}
		v := countView{
			State: stateBadge(state), Runs: grouped(int64(runs[state])), Link: f.selecting(state, ""),
			Current: f.State == state && f.Reason == "",
		}
		v.reasons(state, reasons[state], f)
		out = append(out, v)
	}
	return out
}

// reasons adds the most frequent reasons of a state: guests may have as many
// codes as they like.
func (v *countView) reasons(state pawl.RunState, counts []pawl.Count, f filter) {
	if len(counts) == 1 && counts[0].Reason == string(state) {
		return // it says no more
	}
	slices.SortFunc(counts, func(a, b pawl.Count) int { return cmp.Or(b.Runs-a.Runs, cmp.Compare(a.Reason, b.Reason)) })
	for i, c := range counts {
		if i == shownReasons {
			v.Others = counted(int64(len(counts)-i), "more reason")
			return
		}
		v.Reasons = append(v.Reasons, reasonCount{
			Text: cut(words(c.Reason), 40), Runs: grouped(int64(c.Runs)), Link: f.selecting(state, c.Reason),
			Current: f.State == state && f.Reason == c.Reason,
		})
	}
}
