package runtime

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// checkpoint reads the document of a run.
func (e *Engine) checkpoint(id string) (*Checkpoint, error) { return e.document(id, false) }

// document reads the document of a run; brief leaves out its steps and whatever
// has a payload.
func (e *Engine) document(id string, brief bool) (c *Checkpoint, err error) {
	live, queued := e.executing(id)
	err = e.book.View(id, func(s *journal.Snapshot) error {
		d := &document{snapshot: s, engine: e, live: live, queued: queued, brief: brief}
		c, err = d.build()
		return err
	})
	return c, err
}

// document turns a run's records into its checkpoint document.
type document struct {
	snapshot *journal.Snapshot
	engine   *Engine
	live     bool // this process executes it now
	queued   bool // this process will execute it
	brief    bool
	err      error
}

func (d *document) build() (*Checkpoint, error) {
	s := d.snapshot
	c := &Checkpoint{
		Format: CheckpointFormat, Run: s.Start.Run, ExternalID: s.Start.ExternalID, Title: s.Start.Title,
		Labels:   map[string]string{},
		Workflow: WorkflowID{s.Start.Workflow, s.Start.Version, s.Start.Digest},
		Pins:     d.pins(), Seq: s.Seq, Started: s.Started, Updated: s.Updated, Input: d.json(&s.Start.Input),
		Ready: []string{}, CompletedSteps: []string{}, Reasons: []Reason{}, Actions: []Action{},
		Approvals: []struct{}{}, Orphans: []Orphan{}, Budgets: d.budgets(), LastError: d.lastError(),
	}
	maps.Copy(c.Labels, s.Start.Labels)
	for _, u := range s.Upgrades {
		c.Upgrades = append(c.Upgrades, Upgraded(u))
	}
	for _, st := range s.Steps {
		if !d.brief {
			c.Steps = append(c.Steps, d.step(st))
		}
		if st.Phase == journal.PhaseCompleted {
			c.CompletedSteps = append(c.CompletedSteps, st.Name)
		}
	}
	if !s.Ended() {
		c.ResumeFrom = s.Steps[s.Current].Name
		c.Ready = append(c.Ready, c.ResumeFrom)
	}
	d.state(c)
	return c, d.err
}

// json reads a body that holds JSON. An error is kept.
func (d *document) json(body *kv.Body) json.RawMessage {
	if d.brief {
		return nil
	}
	data, err := d.snapshot.Body(body)
	if err != nil {
		d.err = err
		return nil
	}
	if !json.Valid(data) {
		data, _ = json.Marshal(base64.StdEncoding.EncodeToString(data))
	}
	return data
}

func (d *document) pins() Pins {
	p := d.snapshot.Start.Pins
	doc := Pins{
		Modules: maps.Clone(p.Modules), Tools: map[string]string{}, ABI: p.ABI, Semantics: p.Semantics,
		StateFormat: p.StateFormat, Arch: p.Arch,
	}
	for id := range p.Tools {
		if contract, err := d.engine.contracts.of(p, id); err == nil {
			doc.Tools[id] = contract.digest
		}
	}
	return doc
}

func (d *document) budgets() Budgets {
	l, u := &d.snapshot.Start.Limits, &d.snapshot.Used
	b := Budgets{
		Attempts: counter(int64(l.Attempts), int64(u.Attempts)),
		Calls:    counter(int64(l.Calls), int64(u.Calls)),
		Work:     counter(l.Work, u.Work),
		ActiveMS: counter(l.Active.Milliseconds(), u.Active.Milliseconds()),
		Units:    map[string]Counter{},
	}
	b.Recoveries.Counter = counter(int64(l.Recoveries), int64(u.Recoveries))
	b.Recoveries.InARow = int64(u.InARow)
	for unit, limit := range l.Units {
		b.Units[unit] = Counter{Limit: &limit, Used: u.Units[unit]}
	}
	for unit, used := range u.Units {
		if _, limited := l.Units[unit]; !limited {
			b.Units[unit] = Counter{Used: used}
		}
	}
	if l.Deadline > 0 {
		at := time.UnixMicro(l.Deadline).UTC()
		b.Deadline = &at
	}
	return b
}

func counter(limit, used int64) Counter {
	if limit == 0 {
		return Counter{Used: used}
	}
	return Counter{Limit: &limit, Used: used}
}

func (d *document) lastError() *LastError {
	f := d.snapshot.LastError
	if f == nil {
		return nil
	}
	e := &LastError{
		Code: f.Code, Message: f.Message, Step: d.snapshot.Steps[f.Step].Name, Attempt: f.Attempt, Kind: f.Kind,
		Retryable: f.Kind == journal.Temporary, At: d.snapshot.LastErrorAt, Detail: f.Detail,
	}
	if f.Call >= 0 {
		e.Call = &f.Call
	}
	return e
}

func (d *document) step(st *journal.Step) StepCheckpoint {
	doc := StepCheckpoint{Name: st.Name, State: d.stepState(st), Attempts: st.Attempts, Calls: []CallCheckpoint{}, Unclaimed: []CallCheckpoint{}}
	if !st.At.IsZero() {
		doc.Began = &st.At
	}
	if st.Phase == journal.PhaseCompleted {
		doc.Ended, doc.Output = &st.Ended, d.json(st.Output)
	}
	for i, call := range st.Calls {
		doc.Calls = append(doc.Calls, d.call(i, call))
	}
	for _, call := range st.Unclaimed {
		doc.Unclaimed = append(doc.Unclaimed, d.call(call.Place(), call))
	}
	return doc
}

func (d *document) stepState(st *journal.Step) RunState {
	if st.Phase == journal.PhaseOpen {
		if d.live {
			return StateRunning
		}
		return StateInterrupted
	}
	return RunState(st.Phase)
}

func (d *document) call(i int, c *journal.Call) CallCheckpoint {
	doc := CallCheckpoint{
		N: i, Tool: c.Grant, Attempt: c.Attempt, RequestHash: c.Hash.String(), Claimed: c.Claimed, Tries: c.Tries,
		Outcome: host.OutcomeUnknown.String(),
	}
	if c.Tool != c.Grant {
		doc.Use = c.Tool
	}
	if !c.Refused {
		doc.FirstTry, doc.LastTry = c.First.UTC(), c.Last.UTC()
		doc.Effect, doc.Key, doc.Request = c.Class.String(), c.Key.String(), d.json(&c.Request)
		doc.BusinessKey, doc.Borrowed = c.Business, c.Borrowed
		doc.Generation, doc.Receiver = c.Generation, c.Receiver
		if c.Shown != (host.Hash{}) {
			doc.ShownHash = c.Shown.String()
		}
	}
	if r := c.Receipt; r != nil {
		doc.Outcome = host.Outcome(r.Outcome).String()
		doc.Status = statusNames[abi.Status(r.Status)]
		doc.Code, doc.Message = r.Code, r.Message
		doc.Receipt = &ReceiptView{At: time.UnixMicro(r.At).UTC(), Status: r.Answer, Verified: r.Verified, Units: r.Units}
		if r.Response.Inline != nil || r.Response.Hash != nil {
			doc.Receipt.Response = d.json(&r.Response)
		}
	}
	if contract, err := d.engine.contracts.of(d.snapshot.Start.Pins, c.Tool); err == nil && contract.Compensation != nil && c.Written() {
		doc.Compensation = &Compensation{Tool: contract.Compensation.Tool, State: "possible"}
	}
	return doc
}

var statusNames = map[abi.Status]string{
	abi.OK: "ok", abi.Denied: "denied", abi.Invalid: "invalid", abi.Rejected: "rejected", abi.NotApplied: "not_applied",
	abi.Budget: "budget", abi.Cancelled: "cancelled", abi.Deadline: "deadline", abi.Unknown: "unknown",
}

// state derives the run's state, its reasons and what may be done. What
// a run can be up to is the closed table in states.go: nothing waits without a
// waker.
func (d *document) state(c *Checkpoint) {
	s := d.snapshot
	if s.Ended() {
		c.State = StateCompleted
		return
	}
	st := s.Steps[s.Current]
	reason := Reason{Step: st.Name, Waker: wakerOperator}
	switch s.Phase {
	case journal.PhaseWaiting:
		c.State = StateWaiting
		if s.Wait != nil {
			d.waits(c, st, &reason)
			break
		}
		reason.Code, reason.Waker, reason.At = reasonTimer, wakerTimer, &st.Next
		reason.Sentence = fmt.Sprintf("%s waits for attempt %d at %s: %s", st.Name, st.Attempts+1,
			st.Next.Format(time.TimeOnly), st.Failure.Message)
		d.offer(c, fmt.Sprintf("begins attempt %d of %s now", st.Attempts+1, st.Name)+d.again(st, st.Attempts+1))
	case journal.PhaseDecision:
		c.State = StateNeedsDecision
		reason.Code, reason.Sentence, reason.Help = s.Park.Code, s.Park.Sentence, s.Park.Help
		if s.Park.Call >= 0 {
			reason.Call = &s.Park.Call
		}
		if s.Park.Code == journal.ParkUnknown && d.resolvable(s.Park.Call) {
			d.offer(c, "asks the receiver again where it can be asked; sends nothing that the tool's class does not allow")
		}
		if s.Park.Code == journal.ParkOrphan {
			for _, call := range st.Orphans() {
				c.Orphans = append(c.Orphans, Orphan{st.Name, d.call(call.Place(), call)})
			}
		}
	case journal.PhaseFailed:
		c.State = StateFailed
		reason.Code, reason.Sentence = st.Failure.Code, d.failed(st)
	default:
		d.open(c, st, &reason)
	}
	if d.engine.opts.Tools != nil && c.State != StateRunning && c.State != StateFailed {
		d.incompatible(c, &reason)
	}
	if why, held := d.engine.whyHeld(); held {
		c.State, c.Actions = StateHeld, []Action{}
		reason = Reason{Code: reasonHeld, Step: st.Name, Waker: wakerOperator, Sentence: why}
	}
	if reason.Sentence != "" {
		c.Reasons = append(c.Reasons, reason)
	}
}

// waits fills in the state of a run with a call that waits.
func (d *document) waits(c *Checkpoint, st *journal.Step, reason *Reason) {
	w := d.snapshot.Wait
	reason.Code, reason.Waker, reason.At, reason.Sentence, reason.Call = w.Code, w.Waker, &st.Next, w.Sentence, &w.Call
	does := fmt.Sprintf("goes on inside attempt %d of %s now", st.Attempts, st.Name)
	if w.Code == journal.WaitPaused {
		does += "; tries " + w.Tool + " once, and lets its other calls go if that works"
	}
	d.offer(c, does+d.again(st, st.Attempts))
}

// resolvable reports whether going on can find out what became of the call: of
// the class once, without anybody to ask, it cannot.
func (d *document) resolvable(call int) bool {
	calls := d.snapshot.Steps[d.snapshot.Current].Calls
	switch {
	case call < 0:
		return false
	case call >= len(calls):
		return true // it has no record yet: another call's is unknown, and is looked at again
	}
	contract, err := d.engine.contracts.of(d.snapshot.Start.Pins, calls[call].Tool)
	return err == nil && (calls[call].Class != host.Once || contract.Verifies)
}

func (d *document) failed(st *journal.Step) string {
	f := st.Failure
	if f.Kind == journal.Deterministic {
		return fmt.Sprintf("%s failed and would fail the same way again: %s. Another input is needed, in a new run, or other code (pawl resume --upgrade).", st.Name, f.Message)
	}
	return fmt.Sprintf("%s failed in attempt %d and no attempt is left: %s. Once the cause is mended, start a new run under another id.", st.Name, f.Attempt, f.Message)
}

// open fills in the state of a run with an open attempt.
func (d *document) open(c *Checkpoint, st *journal.Step, reason *Reason) {
	if d.live {
		c.State = StateRunning
		return
	}
	if d.queued {
		c.State, reason.Code, reason.Waker = StateQueued, reasonSlowStart, wakerEngine
		reason.Sentence = fmt.Sprintf("%s is entered again when the runs before it have shown that they do not end the process", st.Name)
		return
	}
	c.State, reason.Code = StateInterrupted, reasonCrashed
	reason.Sentence = fmt.Sprintf("the process ended inside attempt %d of %s", st.Attempts, st.Name)
	if d.snapshot.Clean {
		reason.Code = reasonStopped
		reason.Sentence = fmt.Sprintf("stopped in good order inside attempt %d of %s", st.Attempts, st.Name)
	}
	d.offer(c, fmt.Sprintf("goes on inside attempt %d of %s", st.Attempts, st.Name)+d.again(st, st.Attempts))
}

// again says which calls a resume makes or resolves.
func (d *document) again(st *journal.Step, attempt int) string {
	var say string
	for _, call := range st.Calls {
		switch {
		case call.Receipt == nil && call.Waited != nil && call.Waited.Unapplied:
			say += fmt.Sprintf("; sends %s again (%s)", call.Grant, call.Class)
		case call.Receipt == nil:
			say += fmt.Sprintf("; resolves %s (%s)", call.Grant, call.Class)
		case call.Again(attempt):
			say += fmt.Sprintf("; repeats %s (%s)", call.Grant, call.Class)
		}
	}
	return say
}

// after says which steps follow once the run goes on: whoever resumes it lets
// their effects happen too.
func (d *document) after() string {
	s := d.snapshot
	steps := s.Steps[s.Current:]
	if s.Phase != journal.PhaseDecision { // of the others the text has the step already
		steps = steps[1:]
	}
	if len(steps) == 0 {
		return ""
	}
	var names []string
	for i := range steps {
		names = append(names, steps[i].Name)
	}
	return "; once that is done, goes on with " + strings.Join(names, ", ")
}

// offer adds the action resume. A run that rests by its records is offered only
// when its body has let go: before, nobody could act.
func (d *document) offer(c *Checkpoint, does string) {
	if d.live {
		return
	}
	done := "no completed step runs again"
	if len(c.CompletedSteps) > 0 {
		done = "the completed steps do not run again: " + strings.Join(c.CompletedSteps, ", ")
	}
	does += d.after()
	c.Actions = append(c.Actions, Action{
		Action: "resume", Roles: []string{"operator"}, Does: does,
		DoesNot: done + "; no effect that is known to have happened is repeated", Seen: seenOf(d.snapshot.Start.Run, d.snapshot.Head()),
	})
}

// incompatible overrides the state of a run that this program cannot go on
// with.
func (d *document) incompatible(c *Checkpoint, reason *Reason) {
	diffs := d.engine.differences(d.snapshot.Start.Pins)
	if len(diffs) == 0 {
		return
	}
	c.State, c.Differences, c.Actions = StateIncompatible, diffs, []Action{}
	reason.Code, reason.Waker, reason.At, reason.Call, reason.Help = reasonIncompatible, wakerOperator, nil, nil, ""
	reason.Sentence = fmt.Sprintf("%d of the run's pins do not fit this program: %s: %s", len(diffs), diffs[0].Pin, diffs[0].What)
}
