package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// page is the checkpoint document for people.
type page struct {
	out    bytes.Buffer
	paint  painter
	doc    *pawl.Checkpoint
	resume string // the command
}

func (p *page) print(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *page) head(text string) { p.print("\n%s", p.paint.in(bold, text)) }

// render returns the page.
func (p *page) render() []byte {
	c := p.doc
	since := "since"
	if c.State == pawl.StateCompleted {
		since = "at"
	}
	p.print("%s   %s   %s %s %s   %s %s (%s)", p.paint.in(bold, plain(c.Title)), c.ExternalID, p.paint.state(c.State),
		since, clock(c.Updated), c.Workflow.Name, c.Workflow.Version, short(c.Workflow.Digest))
	p.print("run       %s, started %s", c.Run, clock(c.Started))
	if len(c.Labels) > 0 {
		var labels []string
		for _, name := range sortedKeys(c.Labels) {
			labels = append(labels, name+"="+plain(c.Labels[name]))
		}
		p.print("labels    %s", strings.Join(labels, "  "))
	}
	p.print("input     %s", compact(c.Input))
	p.why()
	p.orphans()
	p.steps()
	p.budgets()
	p.lastError()
	p.next()
	if output := c.Output(); output != nil {
		p.head("OUTPUT")
		p.print("  %s", compact(output))
	}
	return p.out.Bytes()
}

func (p *page) why() {
	if len(p.doc.Reasons) == 0 {
		return
	}
	p.head("WHY IT IS NOT MOVING")
	for _, r := range p.doc.Reasons {
		p.print("  %s", strings.ReplaceAll(plain(r.Sentence), "\n", "\n  "))
		if r.Help != "" {
			p.print("  %s", plain(r.Help))
		}
		wakes := "moved by: " + r.Waker
		if r.At != nil {
			wakes += " at " + clock(*r.At)
		}
		p.print("  %s", wakes)
	}
	for _, d := range p.doc.Differences {
		p.print("  %s: %s", d.Pin, plain(d.What))
	}
}

func (p *page) orphans() {
	if len(p.doc.Orphans) == 0 {
		return
	}
	p.head("DONE BY AN EARLIER ATTEMPT, NOT BY THE LAST")
	for _, o := range p.doc.Orphans {
		p.print("  %s %s (attempt %d)   %s   key %s", o.Step, o.Tool, o.Attempt, outcome(&o.CallCheckpoint), o.Key)
	}
}

// marks stand before the steps.
var marks = map[pawl.RunState]string{
	pawl.StateCompleted: "v", pawl.StateRunning: ">", pawl.StateInterrupted: ">", pawl.StateWaiting: "~",
	pawl.StateNeedsDecision: "!", pawl.StateFailed: "x", pawl.StatePending: "-",
	pawl.StateQueued: "~", pawl.StateHeld: "=",
}

func (p *page) steps() {
	p.head("STEPS")
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, s := range p.doc.Steps {
		fmt.Fprintf(table, "  %s %s\t%s\t%s\n", marks[s.State], s.Name, s.State, plural(s.Attempts, "attempt"))
		for _, call := range s.Calls {
			fmt.Fprintf(table, "      %s\t%s\t%s\t%s\n", call.Tool, call.Effect, outcome(&call), details(&call))
		}
	}
	_ = table.Flush() // into memory
	p.out.Write(trimmed(text.Bytes()))
}

// trimmed is text without blanks at the ends of its lines, which tables leave.
func trimmed(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(append(out, bytes.TrimRight(line, " \n")...), '\n')
	}
	return out
}

// outcome is what became of a call, in one word where that says it.
func outcome(call *pawl.CallCheckpoint) string {
	switch {
	case call.Key == "":
		return "refused"
	case call.Outcome == "unknown":
		return "UNKNOWN"
	case call.Outcome == "applied" && call.Effect == "read":
		return "ok"
	}
	return call.Outcome
}

func details(call *pawl.CallCheckpoint) string {
	var parts []string
	if call.Use != "" {
		parts = append(parts, "uses "+call.Use)
	}
	if call.Tries > 1 || call.Outcome == "unknown" {
		if call.Tries == 1 {
			parts = append(parts, "1 try")
		} else {
			parts = append(parts, fmt.Sprintf("%d tries", call.Tries))
		}
	}
	if call.Outcome != "applied" {
		if call.Key != "" {
			parts = append(parts, "key "+call.Key)
		}
		if call.Message != "" {
			parts = append(parts, plain(call.Message))
		}
	}
	if r := call.Receipt; r != nil {
		for _, unit := range sortedKeys(r.Units) {
			parts = append(parts, fmt.Sprintf("%s %d", unit, r.Units[unit]))
		}
		if r.Verified {
			parts = append(parts, "learnt by asking")
		}
	}
	if call.Compensation != nil {
		parts = append(parts, "compensation: "+call.Compensation.Tool)
	}
	return strings.Join(parts, "   ")
}

func (p *page) budgets() {
	b := &p.doc.Budgets
	p.head("BUDGETS")
	parts := []string{spent(p.doc), "active " + active(b.ActiveMS)}
	if b.Deadline != nil {
		parts = append(parts, "deadline "+clock(*b.Deadline))
	}
	p.print("  %s", strings.Join(parts, "  "))
}

func active(c pawl.Counter) string {
	text := (time.Duration(c.Used) * time.Millisecond).String()
	if c.Limit != nil {
		text += " of " + (time.Duration(*c.Limit) * time.Millisecond).String()
	}
	return text
}

func (p *page) lastError() {
	e := p.doc.LastError
	if e == nil {
		return
	}
	p.head("LAST ERROR")
	where := fmt.Sprintf("%s, attempt %d", e.Step, e.Attempt)
	if e.Call != nil {
		where += fmt.Sprintf(", call %d", *e.Call)
	}
	p.print("  %s at %s (%s): %s: %s", where, clock(e.At), e.Kind, e.Code, strings.ReplaceAll(plain(e.Message), "\n", "\n    "))
}

func (p *page) next() {
	help := advise(p.doc, p.resume)
	if len(p.doc.Actions) == 0 && help == "" {
		return
	}
	p.head("WHAT MAY HAPPEN NEXT")
	if help != "" {
		p.print("  %s", help)
	}
	for _, a := range p.doc.Actions {
		p.print("  %s (%s)", a.Action, strings.Join(a.Roles, ", "))
		p.print("    %s", a.Does)
		p.print("    %s", a.DoesNot)
		if a.Action == "resume" {
			p.print("    %s", p.resume)
		}
	}
}

// clock is a point in time as people read it.
func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// compact is JSON on one line.
func compact(value json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Compact(&out, value); err != nil {
		return plain(string(value))
	}
	return plain(out.String())
}
