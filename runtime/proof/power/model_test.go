package power_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
)

// outcome is what a clean execution of a flow comes to: the model. It knows
// nothing of records, only what the guest does, how receivers answer, and the
// rules of attempts and claims as they are written down for people.
type outcome struct {
	end      string // "completed", "failed", "orphan" or "diverged"
	step     int    // that it stopped in; the number of steps if completed
	output   string // of the last step that ended
	attempts []int  // by step
	effects  map[effect]int
	keys     map[shared]bool // business keys whose effect must have happened
	sends    int             // charged to the run, with a receiver that answers at once
	tokens   int64
	perhaps  int64 // tokens that are charged if nobody else was, or if there is an answer
}

// effect is a place from which the same thing may be done several times.
type effect struct {
	step, tool string
	n          int
}

// shared is a business key.
type shared struct{ tool, key string }

// identity is what makes two calls equal.
type identity struct {
	tool, key string
	n         int
	unknown   bool
}

// modelCall is a call as the last attempt that made it knows it.
type modelCall struct {
	identity
	occurrence int
	status     abi.Status
	attempt    int // that made it
	sent       int // its place among all sends of the step
	claimed    bool
	stale      bool
	line       int // the attempt in whose line it was last, and where
	place      int
}

func (c *modelCall) reads() bool { return toolOf(c.tool).reads() }

// stands reports whether it changed something.
func (c *modelCall) stands() bool { return !c.reads() && c.status == abi.OK }

func (c *modelCall) again(attempt int) bool {
	return c.attempt < attempt && (c.stale || c.status.Retryable())
}

// before is the order in which two effects were last told to the step.
func (c *modelCall) before(d *modelCall) bool {
	if c.line == d.line {
		return c.place < d.place
	}
	return c.sent < d.sent
}

// model is the execution of one step.
type model struct {
	*outcome
	step      *Step
	name      string
	line      []*modelCall
	unclaimed []*modelCall
	sent      int
	value     *int // in the store, under the one key

	// Of the attempt under way.
	attempt int
	index   int
	count   map[identity]int
	told    strings.Builder
	stopped string // why the attempt ended, if not by coming to its end
}

// expect works out what a run of the flow with this number comes to.
func (f *Flow) expect(flow int) *outcome {
	o := &outcome{end: "completed", effects: map[effect]int{}, keys: map[shared]bool{}}
	m := &model{outcome: o}
	for i := range f.Steps {
		m.step, m.name, m.line, m.unclaimed, m.sent = &f.Steps[i], stepName(flow, i), nil, nil, 0
		end := m.run()
		o.attempts = append(o.attempts, m.attempt)
		if end != "" {
			o.end, o.step = end, i
			return o
		}
	}
	o.step = len(f.Steps)
	return o
}

// run executes the step; empty means that it ended well.
func (m *model) run() (end string) {
	for m.attempt = 1; ; m.attempt++ {
		m.index, m.count, m.stopped = 0, map[identity]int{}, ""
		m.told.Reset()
		m.told.WriteString("[")
		m.ops(m.step.Ops)
		switch m.stopped {
		case "", "skip":
			if slices.ContainsFunc(m.unclaimed, (*modelCall).stands) {
				return "orphan"
			}
			m.output = m.told.String() + "0]"
			return ""
		case "diverged":
			return "diverged"
		case "fresh":
			m.forget()
		case "again":
			if !slices.ContainsFunc(m.line, func(c *modelCall) bool { return c.status.Retryable() }) {
				return "failed" // it would fail again
			}
		case "never":
			return "failed"
		}
		if m.attempt == mostAttempts {
			return "failed"
		}
	}
}

func (m *model) ops(ops []Op) {
	for i := range ops {
		op := &ops[i]
		status, body := m.call(op)
		if m.stopped != "" {
			return
		}
		if op.Unknown {
			continue
		}
		fmt.Fprintf(&m.told, "%d,%s,", status, body)
		if status == abi.OK {
			continue
		}
		if m.ops(op.Else); m.stopped != "" {
			return
		}
		if m.stopped = op.Fail; m.stopped != "" {
			return
		}
	}
}

// call is one call of the guest: answered from the line, claimed, or made.
func (m *model) call(op *Op) (abi.Status, string) {
	id := identity{op.Tool, op.Key, op.N, op.Unknown}
	occurrence := m.count[id]
	m.count[id]++
	index := m.index
	m.index++
	var c *modelCall
	switch {
	case index < len(m.line) && !m.line[index].again(m.attempt):
		c = m.line[index]
	case index < len(m.line):
		for i, left := range m.line[index+1:] {
			left.line, left.place = m.attempt-1, index+1+i
			m.unclaimed = append(m.unclaimed, left)
		}
		m.line = m.line[:index]
		c = m.make(id, occurrence)
	default:
		if c = m.claim(id, occurrence); m.stopped != "" {
			return 0, ""
		}
		if c == nil {
			c = m.make(id, occurrence)
		}
	}
	return c.status, m.body(c)
}

// claim takes the receipt of an earlier attempt, if there is one that may be
// taken.
func (m *model) claim(id identity, occurrence int) *modelCall {
	slices.SortFunc(m.unclaimed, func(a, b *modelCall) int { return a.sent - b.sent })
	i := slices.IndexFunc(m.unclaimed, func(c *modelCall) bool { return c.identity == id && c.occurrence == occurrence })
	if i < 0 {
		return nil
	}
	was := m.unclaimed[i]
	drop := func() { m.unclaimed = slices.Delete(m.unclaimed, i, i+1) }
	if was.again(m.attempt) || m.outdated(was) {
		drop()
		return nil
	}
	if was.stands() && slices.ContainsFunc(m.line, func(d *modelCall) bool { return d.claimed && d.stands() && was.before(d) }) {
		m.stopped = "diverged"
		return nil
	}
	c := *was
	c.attempt, c.claimed = m.attempt, true
	drop()
	m.line = append(m.line, &c)
	return &c
}

// outdated reports whether a read has to be made again, since an effect comes
// before it now that came after it then.
func (m *model) outdated(c *modelCall) bool {
	return c.reads() && !toolOf(c.tool).paid && slices.ContainsFunc(m.line, func(d *modelCall) bool {
		return d.stands() && (d.sent > c.sent || d.claimed && c.before(d))
	})
}

// make sends the call.
func (m *model) make(id identity, occurrence int) *modelCall {
	m.sent++
	c := &modelCall{identity: id, occurrence: occurrence, attempt: m.attempt, sent: m.sent}
	var tries int
	c.status, tries = m.step.answer(id.tool, id.n, m.attempt)
	m.sends += tries
	tool := toolOf(id.tool)
	if c.status == abi.OK {
		switch {
		case id.key != "":
			m.keys[shared{id.tool, id.key}] = true
		case tool.inside:
			m.keep(id)
		case !tool.reads():
			m.effects[effect{m.name, id.tool, id.n}]++
		}
		switch {
		case !tool.paid:
		case id.key != "" || id.unknown: // who has the key first is charged, and who gets an answer
			m.perhaps += price
		default:
			m.tokens += price
		}
	}
	m.line = append(m.line, c)
	return c
}

// keep changes the value in the store.
func (m *model) keep(id identity) {
	switch id.tool {
	case "kv.put":
		m.value = &id.n
	case "kv.delete":
		m.value = nil
	}
}

// body is what the guest gets of an answer.
func (m *model) body(c *modelCall) string {
	switch {
	case c.status != abi.OK:
		return "0"
	case c.tool == "kv.get" && m.value == nil:
		return `{"found":false}`
	case c.tool == "kv.get":
		return fmt.Sprintf(`{"found":true,"value":%d}`, *m.value)
	case toolOf(c.tool).inside:
		return "{}"
	}
	return answerTo(c.n)
}

// forget has the reads after the last effect made again.
func (m *model) forget() {
	last := 0
	for _, c := range slices.Backward(m.line) {
		if c.stands() {
			last = c.sent
			break
		}
		c.stale = c.reads()
	}
	for _, c := range m.unclaimed {
		c.stale = c.stale || c.reads() && c.sent > last
	}
}

// script is how the receiver of a tool answers a request of the step.
func (s *Step) script(tool string, n int) *Script {
	for i := range s.Scripts {
		if s.Scripts[i].Tool == tool && s.Scripts[i].N == n {
			return &s.Scripts[i]
		}
	}
	return &Script{}
}

// answer is what a call comes to in an attempt, and after how many tries.
func (s *Step) answer(tool string, n, attempt int) (abi.Status, int) {
	script := s.script(tool, n)
	switch {
	case script.Rejected:
		return abi.Rejected, 1
	case attempt < script.Until:
		return abi.NotApplied, triesOf
	}
	return abi.OK, 1
}
