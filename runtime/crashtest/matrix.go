package crashtest

import (
	"fmt"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// matrix makes the boundaries of a run that has ended in peace: first those
// before and after the last write of each step, then all points in the order of
// the run. held says that the receivers can hold calls. A run that was not
// without a hitch by itself is an error: nothing could be compared with it.
func matrix(clean *outcome, held bool) (writes, points []*boundary, err error) {
	m := &maker{clean: clean, held: held, happened: map[seen]bool{}, before: map[string]int{}}
	for _, e := range clean.seen {
		m.happened[e] = true
	}
	for i := range clean.after.Steps {
		if err := m.step(i); err != nil {
			return nil, nil, fmt.Errorf("crashtest: the clean run: %w", err)
		}
	}
	return m.writes, m.points, nil
}

// maker makes a matrix.
type maker struct {
	clean          *outcome
	held           bool
	happened       map[seen]bool
	before         map[string]int // calls sent so far, by tool
	charged        int64          // calls so far
	writes, points []*boundary
}

func (m *maker) step(i int) error {
	st := &m.clean.after.Steps[i]
	if st.Attempts != 1 {
		return fmt.Errorf("step %s took %d attempts; crash a run that needs one each", st.Name, st.Attempts)
	}
	var write *boundary
	for n := range st.Calls {
		call := &st.Calls[n]
		if call.Tries > 1 {
			return fmt.Errorf("%s of step %s took %d tries; crash a run that needs one each", call.Tool, st.Name, call.Tries)
		}
		b := m.call(st.Name, call)
		if !b.Stored && b.contract.Effect != host.Read && call.Outcome == host.OutcomeApplied.String() {
			write = &b
		}
	}
	if write != nil {
		m.around(*write)
	}
	last := boundary{Point: H6, Step: st.Name, Attempt: 1, Call: -1, charged: m.charged}
	if i+1 < len(m.clean.after.Steps) {
		last.Next = m.clean.after.Steps[i+1].Name
	}
	m.add(last)
	return nil
}

// call adds the points of one call.
func (m *maker) call(step string, call *pawl.CallCheckpoint) boundary {
	b := boundary{Step: step, Attempt: 1, Call: call.N, Tool: call.Tool, contract: m.clean.contracts[operatorID(call)]}
	_, outside := m.clean.contracts[operatorID(call)]
	b.Stored = !outside
	b.Unawaited = b.contract.Effect == host.Read && !b.contract.Charged()
	b.Silent = !m.saw(&b, pawl.Sent)
	b.earlier, b.charged, b.Point = m.before[call.Tool], m.charged, H0
	m.add(b)
	m.charged++
	b.charged = m.charged
	var points []Point
	if b.Stored {
		if call.Outcome == host.OutcomeApplied.String() {
			points = append(points, H5)
		}
	} else if m.saw(&b, pawl.IntentDurable) { // else it was refused before it could become one
		m.before[call.Tool]++
		if !b.Unawaited {
			points = append(points, H1)
		}
		if m.held && !b.Silent {
			points = append(points, H2, H3)
		}
		points = append(points, H4, H5)
	}
	for _, p := range points {
		b.Point = p
		m.add(b)
	}
	return b
}

func (m *maker) saw(b *boundary, kind pawl.EventKind) bool {
	return m.happened[seen{Kind: kind, Step: b.Step, Attempt: b.Attempt, Call: b.Call, Tool: b.Tool}]
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
