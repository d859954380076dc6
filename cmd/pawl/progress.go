package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// progress writes one line per change of a run's state. What is told has
// happened is durable; notices between two records are put where they belong,
// since the engine announces records a little later than they are made.
type progress struct {
	out   io.Writer
	paint painter
	quiet bool
	doing *doing // nil where there is no screen

	mu      sync.Mutex // guards what follows
	begun   bool
	width   int    // of the steps' names
	step    string // of the last line
	durable uint64 // sequence number of the last record known to be durable
	queue   []queued
	late    *time.Timer // writes what no later record lets go
	done    *pawl.Event // a step's end or a park, until the next event says which
	elapsed time.Duration
	told    map[string]bool // steps that have a line
}

// queued is an event that may not be told yet.
type queued struct {
	pawl.Event
	at time.Time
}

// lateAfter is how long a notice waits for the record before it. Records linger
// for 5 ms, so this is for those that nobody announces.
const lateAfter = 200 * time.Millisecond

func newProgress(g *Globals) *progress {
	p := &progress{paint: g.paint(g.stderr), quiet: g.JSON, told: map[string]bool{}}
	if screen := terminal(g.stderr); screen != nil && !p.quiet {
		g.stderr = screen // notices stand above the line below too
		p.doing = &doing{screen: screen, paint: p.paint}
	}
	p.out = g.stderr
	return p
}

// observer is for the engine's options.
func (p *progress) observer() pawl.Observer {
	if p.quiet {
		return nil
	}
	return p.observe
}

// begin writes the head and lets the lines go.
func (p *progress) begin(c *pawl.Checkpoint) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range c.Steps {
		p.width = max(p.width, len(s.Name))
	}
	p.width = max(p.width, 8)
	title := ""
	if c.Title != "" {
		title = fmt.Sprintf("\"%s\"  ", plain(c.Title))
	}
	p.print("run %s  %s%s %s", p.paint.in(bold, c.ExternalID), title, c.Workflow.Name, c.Workflow.Version)
	p.begun = true
	if p.doing != nil {
		p.doing.begin(p.width)
	}
	p.flush(p.durable)
}

// end writes what is left.
func (p *progress) end() {
	if p.quiet {
		return
	}
	if p.doing != nil {
		p.doing.end()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flush(1<<64 - 1)
	p.settleDone(nil)
	if p.late != nil {
		p.late.Stop()
	}
}

// print writes a line. If nobody reads it there is nobody to tell.
func (p *progress) print(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// announces reports whether events of this kind say that their record is
// durable.
func announces(kind pawl.EventKind) bool {
	switch kind {
	case pawl.IntentDurable, pawl.ReceiptDurable, pawl.CheckpointDurable, pawl.AttemptFailed, pawl.Parked,
		pawl.Claimed, pawl.Waiting, pawl.Stopped, pawl.Completed:
		return true
	}
	return false
}

func (p *progress) observe(e pawl.Event) {
	if p.doing != nil {
		p.doing.observe(&e)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, queued{e, time.Now()})
	if announces(e.Kind) || e.Kind == pawl.Started || e.Kind == pawl.Recovered {
		p.durable = max(p.durable, e.Seq)
	}
	p.flush(p.durable)
	p.watch()
}

// watch sees to it that nothing waits for ever. The caller holds mu.
func (p *progress) watch() {
	if len(p.queue) > 0 && p.late == nil {
		p.late = time.AfterFunc(lateAfter, p.letGo)
	}
}

// letGo writes the events that have waited for too long.
func (p *progress) letGo() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = nil
	seq := p.durable
	for _, q := range p.queue {
		if time.Since(q.at) >= lateAfter {
			seq = max(seq, q.Seq)
		}
	}
	p.flush(seq)
	p.watch()
}

// flush writes the events up to a record. The caller holds mu.
func (p *progress) flush(seq uint64) {
	if !p.begun {
		return
	}
	slices.SortStableFunc(p.queue, func(a, b queued) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(rank(a.Kind), rank(b.Kind)))
	})
	n := 0
	for n < len(p.queue) && p.queue[n].Seq <= seq {
		p.tell(&p.queue[n].Event)
		n++
	}
	p.queue = slices.Delete(p.queue, 0, n)
}

// rank puts a record before what happened after it.
func rank(kind pawl.EventKind) int {
	if announces(kind) {
		return 0
	}
	return 1
}

// tell writes the line of an event, if it has one.
func (p *progress) tell(e *pawl.Event) {
	e.Message = plain(e.Message)
	if e.Kind == pawl.Returned {
		p.elapsed = e.Elapsed
		return
	}
	if announces(e.Kind) {
		p.settleDone(e)
	}
	switch e.Kind {
	case pawl.CheckpointDurable:
		done := *e
		p.done = &done
	case pawl.Recovered:
		p.line(e.Step, "", fmt.Sprintf("goes on inside attempt %d after a crash", e.Attempt))
	case pawl.ReceiptDurable:
		p.line(e.Step, e.Tool, p.receipt(e))
	case pawl.Refused:
		p.line(e.Step, e.Tool, p.paint.in(red, "refused")+"  "+e.Message)
	case pawl.Retrying:
		p.line(e.Step, e.Tool, p.retrying(e))
	case pawl.Asked:
		p.line(e.Step, e.Tool, asked(e))
	case pawl.AttemptFailed:
		p.line(e.Step, "", p.failed(e))
	case pawl.Claimed:
		p.line(e.Step, e.Tool, p.claimed(e))
	case pawl.Waiting:
		p.line(e.Step, "", p.paint.in(yellow, "waits")+"  "+e.Message)
	case pawl.Parked:
		p.line(e.Step, "", p.paint.in(yellow, "needs a person")+"  "+e.Message)
	case pawl.Logged:
		p.line(e.Step, "", "| "+e.Message)
	}
}

// settleDone writes the line of a step that ended without having made a call.
// next is the event after its end; a failure or a park has a line of its own.
func (p *progress) settleDone(next *pawl.Event) {
	done := p.done
	p.done = nil
	if done == nil || p.told[done.Step] {
		return
	}
	if next != nil && (next.Kind == pawl.AttemptFailed || next.Kind == pawl.Parked || next.Kind == pawl.Waiting) {
		return
	}
	p.line(done.Step, "", fmt.Sprintf("%-11s%8s", "done", duration(p.elapsed)))
}

// line writes a line of a step, whose name is written where it changes.
func (p *progress) line(step, tool, text string) {
	name := step
	if step == p.step {
		name = ""
	}
	p.step, p.told[step] = step, true
	text = strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", p.width+5))
	if tool == "" {
		p.print("  %-*s   %s", p.width, name, text)
		return
	}
	p.print("  %-*s   %-13s   %s", p.width, name, tool, text)
}

func (p *progress) receipt(e *pawl.Event) string {
	word, colour, why := e.Outcome.String(), green, ""
	switch {
	case e.Outcome != host.OutcomeApplied:
		colour, why = red, "  "+e.Message
	case e.Class == host.Read:
		word = "ok"
	}
	if e.Try > 1 {
		why = fmt.Sprintf("  (try %d)", e.Try) + why
	}
	return p.paint.in(colour, fmt.Sprintf("%-11s", word)) + fmt.Sprintf("%8s", duration(e.Elapsed)) + why
}

// claimed is a call that got the receipt of an earlier attempt, or of another
// call with its business key.
func (p *progress) claimed(e *pawl.Event) string {
	colour := green
	if e.Outcome != host.OutcomeApplied {
		colour = red
	}
	return p.paint.in(colour, fmt.Sprintf("%-11s", e.Outcome)) + "  as before; nothing is sent"
}

// safe says why a call may be sent again.
var safe = map[host.Class]string{
	host.Read:   "A read: repeating is safe",
	host.Keyed:  "The same key again: repeating is safe",
	host.Verify: "Known not to have happened: sent again",
	host.Once:   "Known not to have happened: sent again",
}

func (p *progress) retrying(e *pawl.Event) string {
	try := fmt.Sprintf("try %d of %d", e.Try, max(e.Tries, e.Try))
	why := e.Message
	if why == "" {
		why = "no answer"
	}
	return fmt.Sprintf("%s (%s). %s", why, try, safe[e.Class])
}

func asked(e *pawl.Event) string {
	first := ""
	if e.Message != "" {
		first = e.Message + ". "
	}
	switch {
	case e.Outcome == host.OutcomeApplied:
		return first + "Asked what happened: it was applied"
	case e.Outcome == host.OutcomeNotApplied:
		return first + "Asked what happened: nothing is there"
	case e.Message != "":
		return "Asked what happened: no answer: " + e.Message
	}
	return "Asked what happened: no answer"
}

func (p *progress) failed(e *pawl.Event) string {
	text := p.paint.in(red, fmt.Sprintf("attempt %d failed", e.Attempt)) + "  " + e.Code + ": " + e.Message
	if e.Due.IsZero() {
		return text
	}
	return text + fmt.Sprintf(" (the next one begins in %s)", duration(max(0, time.Until(e.Due))))
}

// duration is a time as people read it.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
