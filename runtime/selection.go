package runtime

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

const (
	// mostScanned bounds the ended runs that one request looks at; one that has
	// to be read for it counts as so many.
	mostScanned = 100_000
	readCounts  = 50
	// fewLabelled are runs with a label that are looked up one by one.
	fewLabelled = 500
)

// selection is a query on its way through the lists of runs.
type selection struct {
	engine *Engine
	query  *Query
	text   string // in lower case
	// labelled are the runs that have the query's label; nil if it has none. Those
	// that were found to be open are set.
	labelled map[string]bool
	after    place
	limit    int
	found    places // one more than the limit
	tally    tally
	outlook  outlook
	// scanned is where the looking at ended runs was given up.
	scanned string
}

func (e *Engine) selection(q *Query) (*selection, error) {
	l := &selection{engine: e, query: q, text: strings.ToLower(q.Text), limit: q.Limit, outlook: e.outlook()}
	if l.limit <= 0 {
		l.limit = defaultPage
	}
	l.limit = min(l.limit, MaxPage)
	l.found.most = l.limit + 1
	var err error
	if l.after, err = placeOf(q.After); err != nil {
		return nil, err
	}
	if q.Label == "" {
		return l, nil
	}
	runs, err := e.book.Labelled(q.Label, q.Value, "", 0)
	if err != nil {
		return nil, err
	}
	l.labelled = make(map[string]bool, len(runs))
	for _, run := range runs {
		l.labelled[run] = false
	}
	return l, nil
}

// page are the places of the page.
func (l *selection) page() []place { return l.found.first[:min(len(l.found.first), l.limit)] }

// next is the cursor of the page after.
func (l *selection) next() string {
	switch {
	case l.found.full():
		return l.found.first[l.limit-1].cursor()
	case l.scanned != "":
		return place{rankEnded, l.scanned}.cursor()
	}
	return ""
}

// selects reports whether the query selects a run whatever its state is.
func (l *selection) selects(run string, known *journal.Listing) bool {
	if l.query.Workflow != "" && known.Workflow != l.query.Workflow {
		return false
	}
	if l.labelled != nil {
		if _, has := l.labelled[run]; !has {
			return false
		}
	}
	return containsFold(known.Title, l.text) || containsFold(known.ExternalID, l.text) || containsFold(run, l.text)
}

// containsFold reports whether s contains text, which is in lower case, in any
// case. Texts of ASCII, which nearly all are, cost no memory: a list may look
// through a hundred thousand titles.
func containsFold(s, text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.Contains(strings.ToLower(s), text)
	}
	for i := 0; i+len(text) <= len(s); i++ {
		n := 0
		for n < len(text) && lower(s[i+n]) == text[n] {
			n++
		}
		if n == len(text) {
			return true
		}
	}
	return false
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// stood reports whether the query selects runs that stand like this.
func (l *selection) stood(state RunState, reason string) bool {
	return (l.query.State == "" || state == l.query.State) && (l.query.Reason == "" || reason == l.query.Reason)
}

// still reports whether a run that was read is as it was listed: it may have
// gone on.
func (l *selection) still(s *Summary) bool {
	reason := ""
	if len(s.Reasons) > 0 {
		reason = s.Reasons[0].Code
	}
	return l.stood(s.State, reason)
}

func (l *selection) add(at place) {
	if l.after.compare(at) < 0 {
		l.found.add(at)
	}
}

// open goes through the runs that are not ended: a second time if there are some
// of which it has first to be found out whether this program can go on with them.
func (l *selection) open() error {
	for {
		l.found.first, l.tally = l.found.first[:0], tally{}
		err := l.engine.book.EachOpen(func(run string, known *journal.Listing) {
			if _, has := l.labelled[run]; has {
				l.labelled[run] = true
			}
			if !l.selects(run, known) {
				return
			}
			state, reason := l.outlook.of(run, known)
			l.tally.add(state, reason, 1, known.Since)
			if !l.stood(state, reason) {
				return
			}
			at := place{rankOpen, run}
			if l.outlook.stuck(state, reason) {
				at.rank = rankStuck
			}
			l.add(at)
		})
		if err != nil {
			return err
		}
		if more, err := l.outlook.judge(); !more || err != nil {
			return err
		}
	}
}

// ended goes through the runs that have ended, as far as the page needs them.
func (l *selection) ended() error {
	if l.labelled != nil && len(l.labelled) <= fewLabelled {
		return l.endedOf()
	}
	if l.query.Workflow == "" && l.text == "" {
		n, err := l.countEnded()
		if err != nil {
			return err
		}
		if n > 0 {
			l.tally.add(StateCompleted, "", n, 0)
		}
	}
	if !l.stood(StateCompleted, "") || l.found.full() {
		return nil
	}
	before := ""
	if l.after.rank == rankEnded {
		before = l.after.at
	}
	return l.endedBefore(before)
}

// countEnded is how many runs have ended, of those with the query's label if it
// has one: a run that has it is open or has ended.
func (l *selection) countEnded() (n int, err error) {
	if l.labelled == nil {
		return l.engine.book.CountEnded()
	}
	for _, open := range l.labelled {
		if !open {
			n++
		}
	}
	return n, nil
}

// endedBefore looks at ended runs until the page is full, or it has looked at
// enough of them.
func (l *selection) endedBefore(before string) (err error) {
	unfiltered := l.query.Workflow == "" && l.text == ""
	cost := 0
	scan := l.engine.book.EachEnded(before, func(run *journal.EndedRun) bool {
		if cost++; cost > l.engine.mostScanned {
			return false
		}
		l.scanned = run.Position
		_, selected := l.labelled[run.Run]
		selected = selected || l.labelled == nil
		if selected && !unfiltered {
			known, read, e := run.Listing()
			if read {
				cost += readCounts
			}
			switch {
			case errors.Is(e, ErrUndecodable):
				selected = false // nobody knows what it is called
			case e != nil:
				err = e
				return false
			default:
				selected = l.selects(run.Run, &known)
			}
		}
		if selected {
			l.add(place{rankEnded, run.Position})
		}
		return !l.found.full()
	})
	if cost <= l.engine.mostScanned {
		l.scanned = ""
	}
	return errors.Join(scan, err)
}

// endedOf reads the few runs that have the query's label and are not open.
func (l *selection) endedOf() error {
	for run, open := range l.labelled {
		if open {
			continue
		}
		err := l.engine.book.View(run, func(s *journal.Snapshot) error {
			known := s.Listing()
			if !s.Ended() || !l.selects(run, &known) {
				return nil
			}
			l.tally.add(StateCompleted, "", 1, 0)
			if l.stood(StateCompleted, "") {
				l.add(place{rankEnded, journal.EndedPosition(s.Updated, run)})
			}
			return nil
		})
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUndecodable) {
			return err
		}
	}
	return nil
}
