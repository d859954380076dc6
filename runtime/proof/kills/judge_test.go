package kills_test

import (
	"encoding/json"
	"slices"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// judge compares the documents of all runs with what the receivers saw. Nothing
// that the engine says counts for itself.
func (w *world) judge(documents map[string]*pawl.Checkpoint) {
	w.t.Helper()
	lines := w.outside.lines(0)
	w.keys(lines)
	of := map[string][]line{}
	for _, l := range lines {
		of[l.Run] = append(of[l.Run], l)
	}
	for id := range w.begun {
		if documents[id] == nil {
			w.t.Errorf("%s was begun and is lost", id)
		}
	}
	for id := range of {
		if documents[id] == nil {
			w.t.Errorf("%s was at work outside and is lost", id)
		}
	}
	for id, c := range documents {
		w.run(id, c, of[id])
	}
}

// keys expects that no key has two effects, or two meanings.
func (w *world) keys(lines []line) {
	w.t.Helper()
	effects := map[string]int{}
	for _, l := range lines {
		if l.Kind == lineEffect {
			effects[l.Tool+" "+l.Key]++
		}
		if l.Kind == lineConflict || l.Key == "" && l.Tool != look {
			w.t.Errorf("a key that means two things: %+v", l)
		}
	}
	for key, n := range effects {
		if n > 1 {
			w.t.Errorf("%s: %d effects", key, n)
		}
	}
}

// run judges one run.
func (w *world) run(id string, c *pawl.Checkpoint, lines []line) {
	w.t.Helper()
	w.budgets(id, c, lines)
	w.orderOf(id, lines)
	var effects []act
	texts := 0
	for _, l := range lines {
		switch {
		case l.Kind == lineEffect:
			effects = append(effects, l.act())
		case l.Kind == lineRequest && l.Tool == sms:
			texts++
		}
	}
	if texts > 1 {
		w.t.Errorf("%s: what nobody may repeat was sent %d times", id, texts)
	}
	plan := effectsOf(planOf(id))
	switch c.State {
	case pawl.StateCompleted:
		if !slices.Equal(effects, plan) {
			w.t.Errorf("%s completed with the effects %v, want %v", id, effects, plan)
		}
		w.receipts(id, c, lines)
	case pawl.StateNeedsDecision:
		if len(effects) > len(plan) || !slices.Equal(effects, plan[:len(effects)]) {
			w.t.Errorf("%s is parked with the effects %v, want the first of %v", id, effects, plan)
		}
		w.parked(id, c, lines)
	default:
		w.t.Errorf("%s: state %s: %+v, last error %+v", id, c.State, c.Reasons, c.LastError)
	}
}

// budgets expects that each sending was charged, and that nothing was but
// sendings and what was about to be sent when a process was killed.
func (w *world) budgets(id string, c *pawl.Checkpoint, lines []line) {
	w.t.Helper()
	writes, reads, cents := int64(0), int64(0), int64(0)
	for _, l := range lines {
		switch {
		case l.Kind == lineRequest && l.Tool == look:
			reads++
		case l.Kind == lineRequest:
			writes++
		case l.Kind == lineEffect && l.Tool == pay:
			cents += price(l)
		}
	}
	used, lost := c.Budgets.Calls.Used, c.Budgets.Recoveries.Used
	// The charge of a read is not waited for: a kill may take it back.
	if used < writes || used > writes+reads+lost {
		w.t.Errorf("%s: %d calls charged; %d writes and %d reads were sent, %d recoveries", id, used, writes, reads, lost)
	}
	if c.State == pawl.StateCompleted && c.Budgets.Units["cents"].Used != cents {
		w.t.Errorf("%s: %d cents booked, %d were charged", id, c.Budgets.Units["cents"].Used, cents)
	}
	if was := w.last[id]; c.Seq < was.Seq {
		w.t.Errorf("%s: number %d, was %d", id, c.Seq, was.Seq)
	}
}

func price(l line) int64 {
	var body struct{ Cents int64 }
	_ = json.Unmarshal(l.Body, &body) // the receivers wrote it
	return body.Cents
}

// orderOf expects that no step acts once a later one has.
func (w *world) orderOf(id string, lines []line) {
	w.t.Helper()
	at := ""
	for _, l := range lines {
		if l.Kind == lineEffect && l.Step < at {
			w.t.Errorf("%s: step %s acts behind step %s", id, l.Step, at)
		}
		if l.Kind == lineEffect {
			at = max(at, l.Step)
		}
	}
}

// receipts expects that what the engine has of a call is what its receiver
// answered, that the guest was given that, and that steps ran as often as they
// failed and once more.
func (w *world) receipts(id string, c *pawl.Checkpoint, lines []line) {
	w.t.Helper()
	answers := map[string]string{}
	for _, l := range lines {
		if l.Kind == lineEffect {
			answers[l.Key] = string(l.Body)
		}
	}
	for i, st := range c.Steps {
		tools, last := plans[planOf(id)][i], ""
		if len(st.Calls) != len(tools) {
			w.t.Errorf("%s: step %s has %d calls, want %d", id, st.Name, len(st.Calls), len(tools))
			continue
		}
		for n, call := range st.Calls {
			if call.Tool != tools[n] || call.Receipt == nil || call.Outcome != "applied" {
				w.t.Errorf("%s: step %s, call %d: %+v", id, st.Name, n, call)
				continue
			}
			last = string(call.Receipt.Response)
			if call.Tool != look && last != answers[call.Key] {
				w.t.Errorf("%s: step %s has the receipt %s of call %d, it was answered %s", id, st.Name, last, n, answers[call.Key])
			}
		}
		if want := max(last, "null"); len(tools) > 0 && string(st.Output) != want {
			w.t.Errorf("%s: step %s put out %s, want %s", id, st.Name, st.Output, want)
		}
	}
}

// parked expects that a person is asked for one reason alone: what must not be
// repeated was sent, or was about to be, and no answer that settles it came
// before the process ended.
func (w *world) parked(id string, c *pawl.Checkpoint, lines []line) {
	w.t.Helper()
	if len(c.Reasons) != 1 || c.Reasons[0].Code != "unknown" || planOf(id) != "texting" {
		w.t.Errorf("%s is parked: %+v", id, c.Reasons)
		return
	}
	requests := slices.DeleteFunc(slices.Clone(lines), func(l line) bool { return l.Kind != lineRequest })
	if len(requests) == 0 {
		return // it was killed before it sent anything
	}
	last := requests[len(requests)-1]
	for _, l := range lines {
		if l.Kind != lineRequest || l.Tool != sms {
			continue
		}
		failed := l.Fault == "500 after it" // and nothing came behind it
		cutOff := w.ended[l.Life] && last.Life == l.Life
		if !failed && !cutOff {
			w.t.Errorf("%s is parked, though its text was answered and its process lived: %+v, then %+v", id, l, last)
		}
	}
}
