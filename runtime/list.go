package runtime

import (
	"errors"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// MaxPage is the most runs that a page has.
const MaxPage = 500

const defaultPage = 50

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
	// Limit bounds the runs of a page. Defaults to 50, at most [MaxPage].
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
	// known without it are filled in, and State is empty. It is counted with the
	// reason "unreadable" once that is known of it.
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
	// and reason. Completed runs are counted unless the query selects by workflow
	// or text: then they have no row, unless it also selects by a label that no
	// more than 500 runs have.
	Counts []Count `json:"counts"`
}

// List returns a page of the runs that q selects (nil: all). It reads the runs
// of the page; all others it knows by what is kept for lists: of a title the
// first 256 bytes. Where one process alone uses the store that is kept in memory,
// so each of several engines of that process knows the open runs that it found
// when it opened, or has executed itself. A cursor that is none fails with
// [ErrInvalidInput], a store that cannot be read with [ErrUnavailable].
//
// A request looks at no more than 100,000 runs that have ended: then the page is
// shorter than its limit, perhaps empty, and Next goes on from there. So only a
// page without Next is the last one.
func (e *Engine) List(q *Query) (*Page, error) {
	if q == nil {
		q = new(Query)
	}
	l, err := e.selection(q)
	if err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	if err := l.ended(); err != nil {
		return nil, err
	}
	p := &Page{Items: []Summary{}, Counts: l.tally.counts(), Next: l.next()}
	for _, at := range l.page() {
		s, err := e.summary(at.run())
		switch {
		case errors.Is(err, ErrNotFound): // its start is not durable, or never was
		case errors.Is(err, ErrUndecodable):
			e.book.Unreadable(at.run())
			p.Items = append(p.Items, l.unreadable(at.run(), err))
		case err != nil:
			return nil, err
		case l.still(s):
			p.Items = append(p.Items, *s)
		}
	}
	return p, nil
}

// summary reads a run for a list.
func (e *Engine) summary(run string) (*Summary, error) {
	c, err := e.document(run, true)
	if err != nil {
		return nil, err
	}
	s := c.Summary()
	return &s, nil
}

// Summary is the run as a list shows it.
func (c *Checkpoint) Summary() Summary {
	return Summary{
		Run: c.Run, ExternalID: c.ExternalID, Title: c.Title, Labels: c.Labels, Workflow: c.Workflow, Seq: c.Seq,
		State: c.State, Reasons: c.Reasons, ResumeFrom: c.ResumeFrom, Started: c.Started, Updated: c.Updated,
	}
}

// unreadable is what is known of a run that cannot be read.
func (l *selection) unreadable(run string, err error) Summary {
	s := Summary{Run: run, Labels: map[string]string{}, Reasons: []Reason{}, Unreadable: err.Error()}
	if known, ok := l.engine.book.Listing(run); ok && known.Format == journal.Format {
		s.ExternalID, s.Title, s.Workflow.Name = known.ExternalID, known.Title, known.Workflow
		s.Started = time.UnixMicro(known.Started).UTC()
	}
	return s
}
