package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type runsCommand struct {
	Label string `help:"Only the runs with this label, such as order=W4398027." placeholder:"NAME=VALUE"`
	State string `help:"Only the runs in this state: ${enum}." enum:"${states}" default:"all"`
}

// summary is one run in a list.
type summary struct {
	Run        string            `json:"run"`
	ExternalID string            `json:"external_id"`
	Title      string            `json:"title"`
	Labels     map[string]string `json:"labels"`
	Workflow   pawl.WorkflowID   `json:"workflow"`
	State      pawl.RunState     `json:"state"`
	Reasons    []pawl.Reason     `json:"reasons"`
	ResumeFrom string            `json:"resume_from,omitempty"`
	Started    time.Time         `json:"started"`
	Updated    time.Time         `json:"updated"`
}

// Run is the command.
func (c *runsCommand) Run(ctx context.Context, g *Globals) (err error) {
	label, value, named := strings.Cut(c.Label, "=")
	if c.Label != "" && (!named || label == "") {
		return &problem{
			Code: "usage", Message: fmt.Sprintf("--label %q: want NAME=VALUE", c.Label),
			Hint: "such as --label order=W4398027", Status: statusUsage,
		}
	}
	if !g.exists() {
		if !g.JSON {
			fmt.Fprintf(g.stdout, "No runs yet: the data directory %s has no store.\n", g.Data)
		}
		return nil
	}
	w, err := g.open(ctx, pawl.Options{Tools: g.toolsIfReadable(".")})
	if err != nil {
		return err
	}
	defer w.close(&err)
	runs := w.Runs()
	if named {
		runs = w.RunsBy(label, value)
	}
	if c.State != anyState {
		runs = inState(runs, pawl.RunState(c.State))
	}
	if g.JSON {
		return g.listJSON(runs)
	}
	none := fmt.Sprintf("No runs yet in %s.", g.Data)
	switch {
	case c.State != anyState:
		none = fmt.Sprintf("No runs in %s are %s.", g.Data, strings.TrimSpace(c.State+" "+c.Label))
	case named:
		none = fmt.Sprintf("No runs with %s in %s.", c.Label, g.Data)
	}
	return g.list(runs, none)
}

// inState keeps the runs in a state. One that cannot be read may be in it.
func inState(runs iter.Seq2[*pawl.Checkpoint, error], state pawl.RunState) iter.Seq2[*pawl.Checkpoint, error] {
	return func(yield func(*pawl.Checkpoint, error) bool) {
		for c, err := range runs {
			if (err != nil || c.State == state) && !yield(c, err) {
				return
			}
		}
	}
}

// anyState is the value of --state that keeps all runs.
const anyState = "all"

// states are the values of --state.
func states() string {
	names := []string{anyState}
	for _, s := range []pawl.RunState{
		pawl.StateRunning, pawl.StateQueued, pawl.StateWaiting, pawl.StateNeedsDecision, pawl.StateFailed,
		pawl.StateIncompatible, pawl.StateHeld, pawl.StateInterrupted, pawl.StateCompleted,
	} {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

// listJSON writes one line a run. A run that cannot be read does not keep the
// others from being listed.
func (g *Globals) listJSON(runs iter.Seq2[*pawl.Checkpoint, error]) error {
	var unreadable error
	for c, err := range runs {
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		err := g.printJSON(summary{
			Run: c.Run, ExternalID: c.ExternalID, Title: c.Title, Labels: c.Labels, Workflow: c.Workflow, State: c.State,
			Reasons: c.Reasons, ResumeFrom: c.ResumeFrom, Started: c.Started, Updated: c.Updated,
		})
		if err != nil {
			return err
		}
	}
	return unreadable
}

func (g *Globals) list(runs iter.Seq2[*pawl.Checkpoint, error], none string) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var unreadable error
	listed := 0
	for c, err := range runs {
		if err != nil {
			unreadable = errors.Join(unreadable, err)
			continue
		}
		if listed++; listed == 1 {
			fmt.Fprintln(table, "RUN\tTITLE\tWORKFLOW\tSTATE\tAGE\tWHY")
		}
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\t%s\t%s\n", c.ExternalID, plain(c.Title), c.Workflow.Name, c.Workflow.Version,
			painter(false).state(c.State), age(c.Started), why(c))
	}
	if listed == 0 && unreadable == nil {
		fmt.Fprintln(g.stdout, none)
	}
	_ = table.Flush() // into memory
	_, err := g.stdout.Write(trimmed(text.Bytes()))
	return errors.Join(err, unreadable)
}

// why is the first reason, shortened.
func why(c *pawl.Checkpoint) string {
	if len(c.Reasons) == 0 {
		return ""
	}
	text := []rune(strings.ReplaceAll(plain(c.Reasons[0].Sentence), "\n", " "))
	if len(text) > 80 {
		return string(text[:77]) + "..."
	}
	return string(text)
}

// age is how long ago something was, in its largest unit.
func age(at time.Time) string {
	const day = 24 * time.Hour
	d := time.Since(at)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d/time.Minute))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d/time.Hour))
	}
	return fmt.Sprintf("%dd", int(d/day))
}
