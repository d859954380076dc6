package crashtest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// outcome is what became of one run.
type outcome struct {
	before  *pawl.Checkpoint // as the dead process left it; nil for the clean run
	after   *pawl.Checkpoint
	check   string // what is wrong with the store
	effects []Effect

	// Of the clean run alone.
	seen      []seen
	contracts contracts
	stale     bool // two runs may be answered differently
}

// judge fills in the row of a boundary: what became of the run killed there,
// compared with the clean one.
func judge(r *Row, b *boundary, clean, got *outcome) {
	j := &judgement{row: r, boundary: b, clean: clean, got: got, toll: tollOf(b)}
	if b.loose && b.contract.Effect != host.Read && !b.contract.Verifies && got.after.State == pawl.StateNeedsDecision {
		j.toll.parks = true
	}
	j.resumption()
	j.end()
}

// end judges how the run ended. One that did not get there has one mismatch for
// that, and none for all that follows from it.
func (j *judgement) end() {
	ended := j.state()
	j.ledgers(ended)
	if ended {
		j.row.BudgetsExact = j.budgets()
	}
	if j.got.check != "" {
		j.wrong("the store is not sound: %s", j.got.check)
	}
}

// judgement is one row being judged.
type judgement struct {
	row        *Row
	boundary   *boundary
	clean, got *outcome
	toll       toll
}

func (j *judgement) wrong(format string, args ...any) {
	j.row.Mismatches = append(j.row.Mismatches, fmt.Sprintf(format, args...))
}

// resumption looks at where the run was picked up, and that nothing that was
// completed was touched again.
func (j *judgement) resumption() {
	before, after := j.got.before, j.got.after
	j.row.ResumedFrom, j.row.Seq = before.ResumeFrom, before.Seq
	if want := j.boundary.inside(); before.ResumeFrom != want {
		j.wrong("the document says resume_from %q, and the kill was in %q", before.ResumeFrom, want)
	}
	if want := j.left(); before.State != want {
		j.wrong("the document says %s, not %s, before the resume", before.State, want)
	}
	if got, want := before.Budgets.Calls.Used, j.boundary.charged; got != want {
		j.wrong("calls: %d charged before the resume, not %d", got, want)
	}
	if pawl.CompareResume(before, after).RepeatedCompletedSteps {
		j.wrong("a completed step ran again")
	}
	for _, name := range before.CompletedSteps {
		was, is := before.Step(name), after.Step(name)
		if is == nil || !slices.EqualFunc(was.Calls, is.Calls, sameCall) {
			j.wrong("the calls of the completed step %s have changed", name)
		}
	}
}

// left is the state in which the dead process left the run.
func (j *judgement) left() pawl.RunState {
	switch {
	case j.boundary.inside() == "":
		return pawl.StateCompleted
	case j.boundary.parked():
		return pawl.StateWaiting
	}
	return pawl.StateInterrupted
}

func sameCall(a, b pawl.CallCheckpoint) bool {
	return a.Tool == b.Tool && a.Key == b.Key && a.Tries == b.Tries && a.Attempt == b.Attempt && a.Outcome == b.Outcome
}

// ledgers compares what the receivers say of a run that got to its end, or did
// not.
func (j *judgement) ledgers(ended bool) {
	r := j.row
	r.Effects = perTool(j.got.effects)
	more, less := count(j.got.effects).against(count(j.clean.effects))
	if j.boundary.loose {
		more, less = 0, 0 // it may have gone another way
	}
	r.Duplicates = max(more, repeated(j.got.effects))
	if r.Duplicates > 0 {
		j.wrong("%d effects happened once too often: %s, clean %s", r.Duplicates, told(r.Effects), told(perTool(j.clean.effects)))
	}
	if j.toll.parks || !ended {
		return // the rest of the run has not happened yet
	}
	if r.Lost = less; less > 0 {
		j.wrong("%d effects are missing: %s, clean %s", less, told(r.Effects), told(perTool(j.clean.effects)))
	}
}

// told says how many effects each tool had.
func told(effects map[string]int) string {
	if len(effects) == 0 {
		return "none"
	}
	var parts []string
	for _, tool := range slices.Sorted(maps.Keys(effects)) {
		parts = append(parts, fmt.Sprintf("%s %d", tool, effects[tool]))
	}
	return strings.Join(parts, ", ")
}

// state compares how the run ended, and reports whether it got there.
func (j *judgement) state() bool {
	want, r, after := pawl.StateCompleted, j.row, j.got.after
	if j.toll.parks {
		want = pawl.StateNeedsDecision
	}
	if after.State != want {
		j.wrong("the run is %s, not %s%s", after.State, want, reason(after))
		return false
	}
	if j.toll.parks {
		r.Waits = waits(j.boundary)
		return true
	}
	r.OutputEqual = bytes.Equal(after.Output(), j.clean.after.Output())
	r.OutputCompared = r.OutputEqual || !j.boundary.loose && !j.clean.stale
	if !r.OutputEqual && r.OutputCompared {
		j.wrong("the output is %s, clean %s", after.Output(), j.clean.after.Output())
	}
	return true
}

// waits says why a person is asked: what the tool promises does not let the
// machine go on by itself.
func waits(b *boundary) string {
	text := b.Tool + " is " + b.contract.Effect.String()
	switch {
	case b.contract.Effect == host.Keyed && b.contract.KeyWindow == host.NoKeyWindow:
		return text + " and forgets its keys at once"
	case repeats(b.contract) && b.contract.Tries > 1:
		return fmt.Sprintf("%s, and its %d tries are used up", text, b.contract.Tries)
	case repeats(b.contract):
		return text + " with 1 try"
	case b.contract.Verifies:
		return text + " and was not found"
	}
	return text
}

func reason(c *pawl.Checkpoint) string {
	if len(c.Reasons) == 0 {
		return ""
	}
	return ": " + c.Reasons[0].Sentence
}

// budgets compares what was spent, and reports whether it is exact.
func (j *judgement) budgets() bool {
	got, clean := &j.got.after.Budgets, &j.clean.after.Budgets
	exact := j.spent("recoveries", got.Recoveries.Used, clean.Recoveries.Used, j.toll.recoveries)
	if j.toll.parks {
		return exact // the rest is not spent yet
	}
	if j.boundary.loose {
		return j.atMost("attempts", got.Attempts.Used, clean.Attempts.Used) &&
			j.atMost("calls", got.Calls.Used, clean.Calls.Used+j.toll.calls) && exact
	}
	exact = j.spent("attempts", got.Attempts.Used, clean.Attempts.Used, 0) && exact
	exact = j.spent("calls", got.Calls.Used, clean.Calls.Used, j.toll.calls) && exact
	exact = j.worked(got.Work.Used, clean.Work.Used) && exact
	for _, unit := range slices.Sorted(maps.Keys(clean.Units)) {
		exact = j.spent(unit, got.Units[unit].Used, clean.Units[unit].Used, 0) && exact
	}
	for _, unit := range slices.Sorted(maps.Keys(got.Units)) {
		if _, known := clean.Units[unit]; !known {
			exact = j.spent(unit, got.Units[unit].Used, 0, 0) && exact
		}
	}
	return exact
}

// worked compares the work. A clean run is another run with other random
// numbers, by which the maps of its guests need a little more or less; a part of
// a step that is charged twice is far more than that.
func (j *judgement) worked(got, clean int64) bool {
	const tolerance = 100 // of the clean run's work, one part in so many
	if d := got - clean; max(d, -d) <= clean/tolerance {
		return true
	}
	j.wrong("work: %d spent, clean %d", got, clean)
	return false
}

func (j *judgement) atMost(what string, got, most int64) bool {
	if got > most {
		j.wrong("%s: %d spent, at most %d", what, got, most)
	}
	return got <= most
}

func (j *judgement) spent(what string, got, clean, toll int64) bool {
	if got == clean+toll {
		return true
	}
	if toll == 0 {
		j.wrong("%s: %d spent, clean %d", what, got, clean)
	} else {
		j.wrong("%s: %d spent, not %d (%d clean and %d for what went wrong)", what, got, clean+toll, clean, toll)
	}
	return false
}
