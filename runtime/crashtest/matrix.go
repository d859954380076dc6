package crashtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// matrix makes the boundaries of a run that has ended in peace: first those
// before and after the last write of each step, then all points in the order of
// the run. held says that the receivers can hold calls.
func matrix(clean *outcome, held bool) (*maker, error) {
	m := &maker{clean: clean, held: held, calls: map[place]*made{}, ends: map[place]int{}, sent: map[string]int{}}
	m.read()
	for i, e := range clean.seen {
		m.event(i, e)
	}
	if len(m.points) == 0 {
		return nil, errors.New("crashtest: the clean run told of nothing that it did")
	}
	return m, nil
}

// maker makes a matrix.
type maker struct {
	clean          *outcome
	held           bool
	calls          map[place]*made
	ends           map[place]int  // where the completed attempts' guests returned last
	sent           map[string]int // requests so far, by tool
	charged        int64          // calls so far
	write          *boundary      // the last write of the step so far
	writes, points []*boundary
}

// place is where a call was made.
type place struct {
	step          string
	attempt, call int
}

// made is what a clean run did about a call in one attempt.
type made struct {
	tries   int  // records of a sending
	silent  bool // nobody announced a sending
	refused bool
	applied bool         // or answered, for a read
	waits   map[int]bool // behind which tries it left its memory to wait
}

// read learns what became of the calls.
func (m *maker) read() {
	for i, e := range m.clean.seen {
		if e.Call < 0 {
			if e.Kind == pawl.Returned { // the end itself is told of later, when it is durable
				m.ends[place{e.Step, e.Attempt, -1}] = i
			}
			continue
		}
		at := place{e.Step, e.Attempt, e.Call}
		c := m.calls[at]
		if c == nil {
			c = &made{silent: true, waits: map[int]bool{}}
			m.calls[at] = c
		}
		switch e.Kind {
		case pawl.IntentDurable:
			c.tries = max(c.tries, e.Try, 1) // those of the store count none
		case pawl.Sent:
			c.silent = false
		case pawl.Refused:
			c.refused = true
		case pawl.Answered:
			c.applied = e.Applied
		case pawl.Waiting:
			c.waits[c.tries] = true
		}
	}
}

// event adds the points that an event of the run stands for.
func (m *maker) event(i int, e seen) {
	here := boundary{Step: e.Step, Attempt: e.Attempt, Call: -1, charged: m.charged}
	switch e.Kind {
	case pawl.BeforeIntent:
		m.call(e)
	case pawl.Begun:
		if e.Attempt > 1 && m.first(i, e) {
			here.Point = Begin
			m.add(here)
		}
	case pawl.AttemptFailed:
		m.write = nil
		here.Point = Park
		m.add(here)
	case pawl.Returned:
		if m.ends[place{e.Step, e.Attempt, -1}] != i || m.failed(e) {
			return
		}
		if m.write != nil {
			m.around(*m.write)
			m.write = nil
		}
		here.Point, here.Next = H6, m.next(e.Step)
		m.add(here)
	}
}

// first reports whether an attempt is entered for the first time: it is again
// behind a wait.
func (m *maker) first(i int, e seen) bool {
	for _, before := range m.clean.seen[:i] {
		if before.Kind == pawl.Begun && before.Step == e.Step && before.Attempt == e.Attempt {
			return false
		}
	}
	return true
}

// failed reports whether the attempt has failed.
func (m *maker) failed(e seen) bool {
	return slices.ContainsFunc(m.clean.seen, func(f seen) bool {
		return f.Kind == pawl.AttemptFailed && f.Step == e.Step && f.Attempt == e.Attempt
	})
}

func (m *maker) next(step string) string {
	steps := m.clean.after.Steps
	for i := range steps {
		if steps[i].Name == step && i+1 < len(steps) {
			return steps[i+1].Name
		}
	}
	return ""
}

// call adds the points of one call in one attempt, try by try.
func (m *maker) call(e seen) {
	c := m.calls[place{e.Step, e.Attempt, e.Call}]
	contract, known := m.clean.contracts[e.id()]
	b := boundary{
		Step: e.Step, Attempt: e.Attempt, Call: e.Call, Tool: e.Tool, Silent: c.silent, contract: contract,
		Stored: !known, earlier: m.sent[e.Tool], charged: m.charged, Point: H0,
	}
	b.Unawaited = known && contract.Effect == host.Read && !contract.Charged()
	m.add(b)
	if c.refused || c.tries == 0 {
		m.charged++ // it never became an intent
		return
	}
	for try := 1; try <= c.tries; try++ {
		m.charged++
		b.Try, b.earlier, b.charged = try, m.sent[e.Tool], m.charged
		if known {
			m.sent[e.Tool]++
		}
		b = m.try(b, c)
	}
	if known && contract.Effect != host.Read && c.applied {
		m.write = &b
	}
}

// try adds the points of one try, and returns the call as it is behind it. Only
// what was applied can be held on both sides of its effect.
func (m *maker) try(b boundary, c *made) boundary {
	last := b.Try == c.tries
	applied := last && c.applied
	var points []Point
	if !b.Unawaited && !b.Stored {
		points = append(points, H1)
	}
	if m.held && !b.Silent && applied {
		points = append(points, H2, H3)
	}
	switch {
	case b.Stored:
		points = append(points, H5)
	case last:
		points = append(points, H4, H5)
	default:
		points = append(points, Retry)
	}
	for _, b.Point = range points {
		b.loose = !applied && (b.Point == H1 || b.Point == H4 || b.Point == Retry)
		m.add(b)
	}
	b.loose = false
	if c.waits[b.Try] {
		b.Point, b.Waits = Wait, b.Waits+1
		m.add(b)
	}
	return b
}

func (m *maker) add(b boundary) {
	b.Name = b.name()
	m.points = append(m.points, &b)
}

// around adds the points before and after a step's last write.
func (m *maker) around(b boundary) {
	for _, p := range []Point{BeforeWrite, AfterWrite} {
		b.Point = p
		b.Name = fmt.Sprintf("E%d %s %s", len(m.writes)+1, b.Step, b.Tool)
		write := b
		m.writes = append(m.writes, &write)
	}
}
