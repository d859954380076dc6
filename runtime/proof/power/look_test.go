package power_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// look compares what is durable with what the receivers know and with what was
// durable before, while nobody executes anything: p has not begun yet.
func (w *world) look(p *process) {
	open := 0
	for _, r := range w.runs {
		if w.found(p, r); r.last == nil {
			continue
		}
		switch r.last.State {
		case pawl.StateInterrupted, pawl.StateWaiting, pawl.StateQueued:
			open++
		}
	}
	w.orphaned(p)
	if err := p.Check(); err != nil {
		w.fail("the store is not sound: %v", err)
	}
	if w.deaths > 0 && open > 0 {
		w.totals.crashes.Add(int64(w.deaths))
		w.totals.hit.Add(int64(open))
		w.totals.count("crash by " + string(w.last))
	}
	w.deaths, w.ends = 0, 0
}

// orphaned looks for runs that sent something and are gone.
func (w *world) orphaned(p *process) {
	w.books.mu.Lock()
	var ids []string
	for id := range w.books.arrivals {
		ids = append(ids, id)
	}
	w.books.mu.Unlock()
	for _, id := range ids {
		if _, err := p.Find(id); err != nil {
			w.fail("something was sent for run %s, which is gone: %v", id, err)
		}
	}
}

// found looks at one run.
func (w *world) found(p *process, r *run) {
	h, err := p.Find(r.ref)
	if err != nil {
		if r.told {
			w.fail("%s: its start was told, and it is gone: %v", r.ref, err)
		}
		return
	}
	r.id = h.ID()
	c, err := h.Checkpoint()
	if err != nil {
		w.fail("%s: cannot be read: %v", r.ref, err)
		return
	}
	if r.last != nil {
		w.compare(r, r.last, c)
	}
	w.reasoned(r, c)
	w.steps(r, c)
	w.intended(r, c)
	r.last = c
	r.touched.Store(false)
}

// compare looks at what must not go back, or come again.
func (w *world) compare(r *run, was, is *pawl.Checkpoint) {
	for _, b := range []struct {
		name    string
		was, is int64
	}{
		{"seq", int64(was.Seq), int64(is.Seq)},
		{"attempts", was.Budgets.Attempts.Used, is.Budgets.Attempts.Used},
		{"calls", was.Budgets.Calls.Used, is.Budgets.Calls.Used},
		{"recoveries", was.Budgets.Recoveries.Used, is.Budgets.Recoveries.Used},
		{"work", was.Budgets.Work.Used, is.Budgets.Work.Used},
		{"active time", was.Budgets.ActiveMS.Used, is.Budgets.ActiveMS.Used},
		{"tokens", was.Budgets.Units["tokens"].Used, is.Budgets.Units["tokens"].Used},
	} {
		if b.is < b.was {
			w.fail("%s: %s used %d, before %d", r.ref, b.name, b.is, b.was)
		}
	}
	// An end before the last look may be charged after it.
	if most := was.Budgets.Recoveries.Used + int64(w.ends) + 1; is.Budgets.Recoveries.Used > most {
		w.fail("%s: %d recoveries, before %d, and %d ends since", r.ref, is.Budgets.Recoveries.Used, was.Budgets.Recoveries.Used, w.ends)
	}
	resting := was.State == pawl.StateNeedsDecision || was.State == pawl.StateFailed
	if was.State == pawl.StateCompleted || resting && !r.touched.Load() {
		if is.Seq != was.Seq || is.State != was.State || !bytes.Equal(is.Output(), was.Output()) {
			w.fail("%s: it was %s %+v at %d, and without anybody's act is %s %+v at %d", r.ref, was.State, was.Reasons, was.Seq, is.State, is.Reasons, is.Seq)
		}
	}
}

// reasoned makes sure that a run which does not move says why, and who can move
// it.
func (w *world) reasoned(r *run, c *pawl.Checkpoint) {
	if c.State == pawl.StateCompleted || c.State == pawl.StateRunning {
		return
	}
	if len(c.Reasons) == 0 {
		w.fail("%s: %s without a reason", r.ref, c.State)
		return
	}
	reason := c.Reasons[0]
	w.totals.count(strings.TrimSpace("state " + string(c.State) + " " + reason.Code))
	ok := reason.Sentence != ""
	switch {
	case c.State != pawl.StateWaiting:
		ok = ok && (reason.Waker == "operator" || reason.Waker == "engine")
	case reason.Waker == "operator" || reason.Waker == "timer":
		ok = ok && reason.At != nil && !reason.At.IsZero()
	default:
		id, of := strings.CutPrefix(reason.Waker, "run ")
		ok = ok && of && reason.At != nil && slices.ContainsFunc(w.runs, func(o *run) bool { return o.id == id || o.id == "" })
	}
	if !ok {
		w.fail("%s: %s, and nothing can wake it: %+v", r.ref, c.State, reason)
	}
}

// steps looks at completed steps: they stay as they are, and nothing in them is
// unknown.
func (w *world) steps(r *run, c *pawl.Checkpoint) {
	for i := range c.Steps {
		st := &c.Steps[i]
		if st.State != pawl.StateCompleted {
			if was, known := r.steps[st.Name]; known {
				w.fail("%s: step %s is %s; it was completed: %s", r.ref, st.Name, st.State, was)
			}
			continue
		}
		is := fmt.Sprint(st.Attempts, len(st.Calls), len(st.Unclaimed), string(st.Output), st.Ended)
		if was, known := r.steps[st.Name]; known && was != is {
			w.fail("%s: the completed step %s was %s, is %s", r.ref, st.Name, was, is)
		}
		r.steps[st.Name] = is
		w.books.completed(r.id, st.Name)
		for j := range st.Calls {
			call := &st.Calls[j]
			if call.Receipt == nil || call.Outcome == "unknown" && !bytes.Equal(call.Request, (&Op{N: seenUnknown}).body()) {
				w.fail("%s: step %s has ended, and call %d of %s is unknown", r.ref, st.Name, j, call.Tool)
			}
		}
	}
}

// intended compares what has arrived with the intents.
func (w *world) intended(r *run, c *pawl.Checkpoint) {
	intents := map[entryID]bool{}
	for i := range c.Steps {
		for _, call := range slices.Concat(c.Steps[i].Calls, c.Steps[i].Unclaimed) {
			intents[entryID{call.Tool, call.Key}] = true
			final := call.Outcome == "applied" || call.Outcome == "rejected"
			if k := toolOf(call.Tool); call.Receipt != nil && final && !k.inside && (!k.reads() || k.paid && !w.forgets(r, i)) {
				w.books.close(call.Tool, call.Key)
			}
		}
	}
	w.books.mu.Lock()
	defer w.books.mu.Unlock()
	for id, e := range w.books.entries {
		if k := toolOf(id.tool); e.run == r.id && e.sent > 0 && (!k.reads() || k.paid) && !intents[id] {
			w.fail("%s: %s was sent with key %s, which no durable intent has", r.ref, id.tool, id.key)
		}
	}
	if of := w.books.arrivals[r.id]; of != nil && int64(of.waited) > c.Budgets.Calls.Used {
		w.fail("%s: %d sends have arrived, and %d are charged", r.ref, of.waited, c.Budgets.Calls.Used)
	}
}

// forgets reports whether a step can have its reads made again.
func (w *world) forgets(r *run, step int) bool {
	return slices.ContainsFunc(w.plan.Flows[r.Flow].Steps[step].Ops, func(op Op) bool { return op.Fail == "fresh" })
}
