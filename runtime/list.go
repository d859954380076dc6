package runtime

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"
)

// Query selects runs. Its zero value selects all.
type Query struct {
	// State and Reason select by the run's state and the code of its reason.
	State  RunState
	Reason string
	// Workflow is a workflow's name.
	Workflow string
	// Label and Value select the runs that have the label with that value.
	Label, Value string
	// Text is part of the run's title or of one of its ids, in any case.
	Text string
	// After is the Next of the page before; empty for the first page.
	After string
	// Limit bounds the runs of a page. Defaults to 50, at most 500.
	Limit int
}

// Summary is a run in a list.
type Summary struct {
	Run        string            `json:"run"`
	ExternalID string            `json:"external_id"`
	Title      string            `json:"title"`
	Labels     map[string]string `json:"labels"`
	Workflow   WorkflowID        `json:"workflow"`
	Seq        uint64            `json:"seq"`
	State      RunState          `json:"state"`
	Reasons    []Reason          `json:"reasons"`
	ResumeFrom string            `json:"resume_from,omitempty"`
	Started    time.Time         `json:"started"`
	Updated    time.Time         `json:"updated"`
	// Unreadable says why the run cannot be read; then only the fields that are
	// known without it are filled in, and State is empty.
	Unreadable string `json:"unreadable,omitempty"`
}

// Count is how many runs are in a state for a reason.
type Count struct {
	State  RunState `json:"state"`
	Reason string   `json:"reason,omitempty"` // its code
	Runs   int      `json:"runs"`
	// Oldest is since when the one of them has been so that has been so longest:
	// when its last record was made. Zero for runs that execute or have ended, and
	// where it is not known.
	Oldest time.Time `json:"oldest,omitzero"`
}

// Page is a part of a list of runs.
type Page struct {
	// Items begin with the runs that do not go on by themselves, then come the
	// others that are not ended, each newest first, then those that ended, the
	// last ended first.
	Items []Summary `json:"items"`
	// Next asks for the page after this one; empty if there is none. Paging is
	// stable: a run that stays as it is is on one page.
	Next string `json:"next_cursor,omitempty"`
	// Counts are those of all runs that the query selects, whatever their state
	// and reason.
	Counts []Count `json:"counts"`
}

// List returns a page of the runs that q selects (nil: all). A cursor that is
// none fails with [ErrInvalidInput].
func (e *Engine) List(q *Query) (*Page, error) {
	// TODO: thin; reads every run.
	if q == nil {
		q = new(Query)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	var all []Summary
	counts := map[Count]int{}
	oldest := map[Count]time.Time{}
	for id, err := range e.book.Runs() {
		if err != nil {
			return nil, err
		}
		c, err := e.checkpoint(id)
		if err != nil {
			all = append(all, Summary{Unreadable: err.Error()})
			continue
		}
		reason := ""
		if len(c.Reasons) > 0 {
			reason = c.Reasons[0].Code
		}
		text := strings.ToLower(c.Title + " " + c.ExternalID + " " + c.Run)
		if q.Workflow != "" && c.Workflow.Name != q.Workflow || q.Label != "" && c.Labels[q.Label] != q.Value ||
			!strings.Contains(text, strings.ToLower(q.Text)) {
			continue
		}
		count := Count{State: c.State, Reason: reason}
		counts[count]++
		if reason != "" && (oldest[count].IsZero() || c.Updated.Before(oldest[count])) {
			oldest[count] = c.Updated
		}
		if q.State != "" && c.State != q.State || q.Reason != "" && reason != q.Reason {
			continue
		}
		all = append(all, Summary{
			Run: c.Run, ExternalID: c.ExternalID, Title: c.Title, Labels: c.Labels, Workflow: c.Workflow, Seq: c.Seq, State: c.State,
			Reasons: c.Reasons, ResumeFrom: c.ResumeFrom, Started: c.Started, Updated: c.Updated,
		})
	}
	rank := func(s Summary) int {
		switch s.State {
		case StateCompleted:
			return 2
		case StateRunning, StateQueued, StateWaiting:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b Summary) int { return rank(a) - rank(b) })
	p := &Page{Items: []Summary{}, Counts: []Count{}}
	for c, n := range counts {
		c.Runs, c.Oldest = n, oldest[c] // from the key without them
		p.Counts = append(p.Counts, c)
	}
	slices.SortFunc(p.Counts, func(a, b Count) int { return strings.Compare(string(a.State)+a.Reason, string(b.State)+b.Reason) })
	from := 0
	if q.After != "" {
		last, err := base64.RawURLEncoding.DecodeString(q.After)
		if err != nil {
			return nil, ErrInvalidInput
		}
		from = slices.IndexFunc(all, func(s Summary) bool { return s.Run == string(last) }) + 1
	}
	to := min(from+limit, len(all))
	p.Items = append(p.Items, all[from:to]...)
	if to < len(all) {
		p.Next = base64.RawURLEncoding.EncodeToString([]byte(all[to-1].Run))
	}
	return p, nil
}
