package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// following is a command that waits for a run.
type following struct {
	g        *Globals
	run      waitedRun
	progress *progress
	dir      string
	resumed  bool // the command is resume
}

// statusOf is the exit status for a run that stands like this.
func statusOf(state pawl.RunState) int {
	switch state {
	case pawl.StateCompleted:
		return statusCompleted
	case pawl.StateFailed:
		return statusFailed
	case pawl.StateIncompatible:
		return statusRefused
	}
	return statusWaits
}

// wait waits until the run rests. When ctx ends it leaves the run instead, says
// how to go on, and returns the exit status as its error.
func (f *following) wait(ctx context.Context) (*pawl.Checkpoint, error) {
	c, err := f.run.wait(ctx)
	if ctx.Err() == nil {
		f.progress.end()
		return c, err
	}
	c, goesOn, err := f.run.leave(f.stopping)
	f.progress.end()
	if err != nil || c.State == pawl.StateCompleted {
		return c, err
	}
	if f.g.JSON {
		if err := f.g.printJSON(c); err != nil {
			return nil, err
		}
		return nil, exitStatus(statusInterrupted)
	}
	if goesOn {
		fmt.Fprintf(f.g.stderr, "stopped watching. The server goes on with the run:\n  %s  look\n", f.g.command("show", c, f.dir))
		return nil, exitStatus(statusInterrupted)
	}
	fmt.Fprintf(f.g.stderr, "stopped. %s The run is resumable:\n", inFlight(c))
	f.commands(c)
	return nil, exitStatus(statusInterrupted)
}

// stopping tells why the end may take a moment.
func (f *following) stopping() {
	f.g.notice("stopping", "stopping: waits up to %d s for calls in flight", int(grace.Seconds()))
}

// inFlight says which calls have an outcome that is not known and matters.
func inFlight(c *pawl.Checkpoint) string {
	var open []string
	for _, s := range c.Steps {
		for _, call := range s.Calls {
			if call.Outcome == "unknown" && call.Effect != "read" {
				open = append(open, fmt.Sprintf("%s (%s)", call.Tool, call.Effect))
			}
		}
	}
	if len(open) == 0 {
		return "Nothing is in flight."
	}
	return fmt.Sprintf("It is not known yet what became of %s; going on finds out.", strings.Join(open, ", "))
}

// commands prints how to go on, if that is possible, and how to look.
func (f *following) commands(c *pawl.Checkpoint) {
	show := f.g.command("show", c, f.dir)
	if slices.ContainsFunc(c.Actions, func(a pawl.Action) bool { return a.Action == "resume" }) {
		resume := f.g.command("resume", c, f.dir)
		fmt.Fprintf(f.g.stderr, "  %s  go on at %s\n  %-*s  look\n", resume, c.ResumeFrom, len(resume), show)
		return
	}
	if help := advise(c, f.g.command("resume", c, f.dir)); help != "" {
		fmt.Fprintf(f.g.stderr, "  %s\n", help)
	}
	fmt.Fprintf(f.g.stderr, "  %s  look\n", show)
}

// command is one about the run, with what it needs to find the same store and
// tools.
func (g *Globals) command(verb string, c *pawl.Checkpoint, dir string) string {
	text := "pawl " + verb + " " + c.ExternalID
	if dir != "." {
		text += " " + quoted(dir)
	}
	return text + g.flags()
}

func (g *Globals) flags() string {
	var text string
	if g.Data != ".pawl" && g.Data != os.Getenv("PAWL_DATA") {
		text += " --data " + quoted(g.Data)
	}
	if g.Tools != "" {
		text += " --tools " + quoted(g.Tools)
	}
	return text
}

func quoted(arg string) string {
	if arg == "" || strings.ContainsAny(arg, " \t\n'\"\\$&;|<>()*?[]#~`!") {
		return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	}
	return arg
}

// end prints how the run stands now, and its output if it is completed.
func (f *following) end(before, after *pawl.Checkpoint) error {
	if f.g.JSON {
		err := f.g.printJSON(after)
		if f.resumed && err == nil {
			err = f.g.printJSON(pawl.CompareResume(before, after))
		}
		return errors.Join(err, status(after))
	}
	f.progress.end()
	fmt.Fprintln(f.g.stderr, ending(after, f.g.paint(f.g.stderr)))
	if after.State != pawl.StateCompleted {
		f.commands(after)
		return status(after)
	}
	pretty, err := indented(after.Output())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f.g.stdout, "%s\n", pretty)
	return err
}

// indented is JSON to read. A few megabytes that are nested deeply would become
// gigabytes of spaces: such JSON stays as it is.
func indented(raw json.RawMessage) ([]byte, error) {
	spaces, depth, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			depth++
			spaces += 2 * depth
		case c == '}', c == ']':
			depth--
			spaces += 2 * depth
		case c == ',':
			spaces += 2 * depth
		}
	}
	if spaces > 1<<16+8*len(raw) {
		return raw, nil
	}
	var pretty bytes.Buffer
	err := json.Indent(&pretty, raw, "", "  ")
	return pretty.Bytes(), err
}

// status is the exit status as an error; nil for a completed run.
func status(c *pawl.Checkpoint) error {
	if s := statusOf(c.State); s != statusCompleted {
		return exitStatus(s)
	}
	return nil
}

// ending says in a few lines how a run that rests stands.
func ending(c *pawl.Checkpoint, paint painter) string {
	text := fmt.Sprintf("%s  %s  %s", paint.state(c.State), c.ExternalID, spent(c))
	for _, r := range c.Reasons {
		text += "\n  " + strings.ReplaceAll(plain(r.Sentence), "\n", "\n  ")
		if r.Help != "" {
			text += "\n  " + plain(r.Help)
		}
	}
	return text
}

// spent lists what the run has used of its budgets.
func spent(c *pawl.Checkpoint) string {
	b := &c.Budgets
	parts := []string{"attempts " + counter(b.Attempts), "calls " + counter(b.Calls)}
	if b.Recoveries.Used > 0 {
		parts = append(parts, fmt.Sprintf("recoveries %d", b.Recoveries.Used))
	}
	for _, unit := range sortedKeys(b.Units) {
		parts = append(parts, unit+" "+counter(b.Units[unit]))
	}
	return strings.Join(parts, "  ")
}

func counter(c pawl.Counter) string {
	if c.Limit == nil {
		return fmt.Sprint(c.Used)
	}
	return fmt.Sprintf("%d/%d", c.Used, *c.Limit)
}
