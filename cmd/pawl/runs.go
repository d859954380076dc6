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
	k, err := g.open(ctx, pawl.Options{Tools: g.toolsIfReadable(".")})
	if err != nil {
		return err
	}
	defer k.close(&err)
	q := pawl.Query{Label: label, Value: value}
	if c.State != anyState {
		q.State = pawl.RunState(c.State)
	}
	runs := listed(ctx, k, q)
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

// listed yields the runs that q selects, page by page.
func listed(ctx context.Context, k keeper, q pawl.Query) iter.Seq2[*pawl.Summary, error] {
	return func(yield func(*pawl.Summary, error) bool) {
		for {
			page, err := k.list(ctx, &q)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
			if q.After = page.Next; q.After == "" {
				return
			}
		}
	}
}

// unread gathers the runs that cannot be read: they do not keep the others from
// being listed.
type unread []string

func (u *unread) add(r *pawl.Summary) bool {
	if r.Unreadable != "" {
		*u = append(*u, r.Unreadable)
	}
	return r.Unreadable != ""
}

func (u unread) err() error {
	if len(u) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", pawl.ErrUndecodable, strings.Join(u, "\n"))
}

// anyState is the value of --state that keeps all runs.
const anyState = "all"

// states are the values of --state.
func states() string {
	names := []string{anyState}
	for _, s := range pawl.RunStates() {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

// listJSON writes one line a run.
func (g *Globals) listJSON(runs iter.Seq2[*pawl.Summary, error]) error {
	var bad unread
	for r, err := range runs {
		if err != nil {
			return err
		}
		bad.add(r)
		if err := g.printJSON(r); err != nil {
			return err
		}
	}
	return bad.err()
}

func (g *Globals) list(runs iter.Seq2[*pawl.Summary, error], none string) error {
	var text bytes.Buffer
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var bad unread
	listed := 0
	for r, err := range runs {
		if err != nil {
			return err
		}
		if bad.add(r) {
			continue
		}
		if listed++; listed == 1 {
			fmt.Fprintln(table, "RUN\tTITLE\tWORKFLOW\tSTATE\tAGE\tWHY")
		}
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\t%s\t%s\n", r.ExternalID, plain(r.Title), r.Workflow.Name, r.Workflow.Version,
			painter(false).state(r.State), age(r.Started), why(r))
	}
	if listed == 0 && len(bad) == 0 {
		fmt.Fprintln(g.stdout, none)
	}
	_ = table.Flush() // into memory
	_, err := g.stdout.Write(trimmed(text.Bytes()))
	return errors.Join(err, bad.err())
}

// why is the first reason, shortened.
func why(c *pawl.Summary) string {
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
