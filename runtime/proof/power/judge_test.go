package power_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// end lets everything come to its end, with all well again, and judges that.
func (w *world) end() {
	p, err := w.open()
	if err != nil {
		w.fail("no process: %v", err)
		return
	}
	w.note(p, "THE END")
	w.look(p)
	w.books.begin(&Life{})
	w.rest(p, func() {
		w.begin(p, len(w.plan.Lives))
		w.goOn(p, false)
	})
	time.Sleep(time.Hour) // whatever still comes
	w.look(p)
	for range 3 { // people ask again
		w.rest(p, func() { w.goOn(p, true) })
	}
	w.look(p)
	for _, r := range w.runs {
		if r.last == nil {
			w.fail("%s: there is no such run", r.ref)
			continue
		}
		w.judge(p, r, r.last)
	}
	w.judgeKeys()
	w.finish(p, Stop)
}

// judge compares a run that has come to its end with the model, by the
// receivers' books.
func (w *world) judge(p *process, r *run, c *pawl.Checkpoint) {
	end := string(c.State)
	if c.State == pawl.StateNeedsDecision {
		end = c.Reasons[0].Code
	}
	w.totals.count("end " + end)
	w.judgeBudgets(r, c)
	w.mu.Lock()
	other := w.other[r.id]
	w.mu.Unlock()
	if other {
		w.totals.count("end not compared with the model")
		return
	}
	if w.stuck(p, r, c, end) {
		w.judgeEffects(r, c, false)
		return
	}
	if end != r.expect.end || len(c.CompletedSteps) != r.expect.step {
		w.fail("%s: %s after %d steps, want %s after %d: %+v", r.ref, end, len(c.CompletedSteps), r.expect.end, r.expect.step, c.Reasons)
		return
	}
	if len(c.CompletedSteps) > 0 {
		if is := c.Steps[len(c.CompletedSteps)-1].Output; !equalJSON(is, r.expect.output) {
			w.fail("%s: output %s, want %s", r.ref, is, r.expect.output)
		}
	}
	for i, want := range r.expect.attempts {
		if is := c.Steps[i].Attempts; is != want {
			w.fail("%s: %d attempts of step %d, want %d", r.ref, is, i, want)
		}
	}
	is, most := c.Budgets.Units["tokens"].Used, r.expect.tokens+r.expect.perhaps
	if is < r.expect.tokens || is > most {
		w.fail("%s: %d tokens, want %d to %d", r.ref, is, r.expect.tokens, most)
	}
	w.judgeEffects(r, c, true)
}

// stuck reports whether a run rightly waits for a person who has nothing to tell
// it.
func (w *world) stuck(p *process, r *run, c *pawl.Checkpoint, end string) bool {
	if len(w.plan.Lives) == 0 {
		return false // nothing has gone wrong
	}
	switch end {
	case "quarantined":
		return w.plan.Flows[r.Flow].Recoveries > 0
	case "waiting":
		return w.waitsForAPerson(p, c)
	case "unknown":
		call := c.Step(c.ResumeFrom).Calls[*c.Reasons[0].Call]
		return toolOf(call.Tool).class != host.Verify
	}
	return false
}

// judgeBudgets compares charges with what has arrived.
func (w *world) judgeBudgets(r *run, c *pawl.Checkpoint) {
	used := c.Budgets.Calls.Used
	if len(w.plan.Lives) == 0 && used != int64(r.expect.sends) && len(r.expect.keys) == 0 {
		w.fail("%s: %d calls charged without any fault, want %d", r.ref, used, r.expect.sends)
	}
	if len(w.plan.Lives) == 0 && c.Budgets.Recoveries.Used != 0 {
		w.fail("%s: recovered without any fault", r.ref)
	}
}

// judgeEffects compares what happened with what should have: exactly that, or,
// of a run that is stuck, not more.
func (w *world) judgeEffects(r *run, c *pawl.Checkpoint, exactly bool) {
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	is := w.books.effects[r.id]
	for id, n := range is {
		if n > r.expect.effects[id] {
			w.fail("%s: %d times %v, want %d", r.ref, n, id, r.expect.effects[id])
		}
	}
	for id, n := range r.expect.effects {
		certain := exactly || slices.Contains(c.CompletedSteps, id.step)
		if certain && is[id] < n && id.n != seenUnknown {
			w.fail("%s: %d times %v, want %d", r.ref, is[id], id, n)
		}
	}
}

// judgeKeys looks at effects that have a business key: they are those of all
// runs together.
func (w *world) judgeKeys() {
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	for id, n := range w.books.effects[""] {
		if n > 1 {
			w.fail("the effect of a business key happened %d times: %v", n, id)
		}
	}
	for _, r := range w.runs {
		if r.last == nil || r.last.State != pawl.StateCompleted {
			continue
		}
		if w.other[r.id] {
			continue
		}
		for key := range maps.Keys(r.expect.keys) {
			if w.books.effects[""][effect{"", key.tool, numberOf(key.key)}] != 1 {
				w.fail("%s is completed, and the effect of its key %v has not happened", r.ref, key)
			}
		}
	}
}

// numberOf is the request of a business key, so that a receiver knows it.
func numberOf(key string) int {
	var n int
	_, _ = fmt.Sscanf(key, "key-%d", &n)
	return n
}

func equalJSON(a []byte, b string) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
