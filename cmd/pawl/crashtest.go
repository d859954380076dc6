package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// crashtestCommand is the crash matrix of anybody's workflow.
type crashtestCommand struct {
	Dir      string   `arg:"" optional:"" complete:"dir" default:"." help:"Folder of the workflow."`
	Input    string   `help:"The input of every run as JSON; - reads standard input. Without it the input is null." placeholder:"FILE" complete:"file"`
	Fakes    string   `help:"File that says what the tools' fakes answer. Default: fakes.toml beside the workflow, if there is one." placeholder:"FILE" complete:"file"`
	Real     bool     `help:"Reach the real tools, as tools.toml has them, through a process that watches and holds their calls. Every row really writes."`
	Yes      bool     `help:"With --real: yes, write to receivers that are not on this machine."`
	JUnit    string   `name:"junit" help:"Write the rows as JUnit XML too." placeholder:"FILE" complete:"file"`
	Points   []string `help:"Make only the rows of these points: H0 to H6, E for before and after the last write of each step, retry, wait, park, begin, and fault for receivers that go wrong." placeholder:"POINT"`
	Parallel int      `help:"How many rows are under way at once." default:"2" placeholder:"N"`
	Keep     bool     `help:"Keep the stores and ledgers of all runs, and say where they are."`
}

// Help says more of it.
func (*crashtestCommand) Help() string {
	return "Nothing outside is reached: a process of this program stands in for every tool, keeps what tools.toml declares of it, and writes a ledger. " +
		"What it answers stands in fakes.toml: pawl = 1, and under [tool.ID] answer (what it answers; {field} in a text stands for that field of the request), " +
		"status (200), applied and absent (to the verify query); without that, an answer is {} with what the tool's units need. With --real the receivers themselves are " +
		"tried. They must take the same input once for every row; what they did nobody here can see, but one that answers the same key in two ways is found. " +
		"Where a tool's class does not let the machine go on, the run must wait for a person: such rows are right, and say so."
}

// Run is the command.
func (c *crashtestCommand) Run(ctx context.Context, g *Globals) error {
	err := c.run(ctx, g)
	if err != nil && ctx.Err() != nil && !is[exitStatus](err) {
		return &problem{
			Code: "interrupted", Message: "the crash test was stopped before its end",
			Hint: "repeat the command: a crash test always begins anew", Status: statusInterrupted,
		}
	}
	return err
}

func (c *crashtestCommand) run(ctx context.Context, g *Globals) (err error) {
	t := &crashTest{command: c, g: g}
	if t.points, err = c.points(); err != nil {
		return err
	}
	if err := c.usable(); err != nil {
		return err
	}
	if t.input, err = (&runCommand{Input: c.Input}).input(g); err != nil {
		return err
	}
	if err := t.read(); err != nil {
		return err
	}
	if _, err := buildModules(ctx, g, c.Dir, c.Dir); err != nil {
		return err
	}
	if t.dir, err = os.MkdirTemp("", "pawl-crashtest-"); err != nil {
		return err
	}
	if c.Keep {
		defer g.notice("kept", "The stores and ledgers of all runs are in %s", t.dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	}
	return t.run(ctx)
}

// usable refuses what does not go together, before anything is built or run.
func (c *crashtestCommand) usable() error {
	wrong := func(message, hint string) error {
		return &problem{Code: "usage", Message: message, Hint: hint, Status: statusUsage}
	}
	switch {
	case c.Parallel < 1:
		return wrong(fmt.Sprintf("%d rows at a time are none", c.Parallel), "give --parallel 1 or more")
	case c.Yes && !c.Real:
		return wrong("--yes is about real receivers, and there are none", "give --real too, or leave --yes out")
	case c.Fakes != "" && c.Real:
		return wrong("there are no fakes with --real", "leave out --fakes or --real")
	case c.JUnit == "":
		return nil
	}
	_, there := os.Stat(c.JUnit)
	f, err := os.OpenFile(c.JUnit, os.O_WRONLY|os.O_CREATE, 0o666)
	if err == nil {
		err = f.Close()
	}
	if err == nil && errors.Is(there, fs.ErrNotExist) {
		err = os.Remove(c.JUnit) // an empty one would say nothing
	}
	if err != nil {
		return noJUnit(err)
	}
	return nil
}

func noJUnit(err error) error {
	return &problem{
		Code: "no_junit", Message: fmt.Sprintf("the JUnit file cannot be written: %v", err),
		Hint: "name a file that can be written with --junit FILE", Status: statusUsage,
	}
}

// points are those that were asked for; nil for all.
func (c *crashtestCommand) points() (points []crashtest.Point, err error) {
	known := map[string][]crashtest.Point{"e": {crashtest.BeforeWrite, crashtest.AfterWrite}}
	for _, p := range []crashtest.Point{
		crashtest.H0, crashtest.H1, crashtest.H2, crashtest.H3, crashtest.H4, crashtest.H5, crashtest.H6,
		crashtest.Retry, crashtest.Wait, crashtest.Park, crashtest.Begin, crashtest.Fault,
	} {
		known[strings.ToLower(string(p))] = []crashtest.Point{p}
	}
	for _, name := range c.Points {
		p := known[strings.ToLower(name)]
		if p == nil {
			return nil, &problem{
				Code: "usage", Message: fmt.Sprintf("there is no point %q", name),
				Hint: "H0 to H6, E, retry, wait, park, begin, fault: pawl crashtest --help", Status: statusUsage,
			}
		}
		points = append(points, p...)
	}
	return points, nil
}

// crashTest is one call of the command.
type crashTest struct {
	command *crashtestCommand
	g       *Globals
	points  []crashtest.Point
	input   json.RawMessage
	dir     string

	tools    string // the tools file; empty if there is none
	declared map[string]*declared
	used     []string
	names    map[string]string // by which the steps call a used tool
	answers  *answersFile
	standIns *standIns
	witness  *witness // of real receivers; nil for fakes
}

// read reads the files.
func (t *crashTest) read() error {
	c := t.command
	root, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	folder, err := readFolder(root)
	if err != nil {
		return err
	}
	place, err := toolfile.Find(t.g.Tools, os.Getenv("PAWL_TOOLS"), c.Dir)
	switch {
	case errors.Is(err, toolfile.ErrNoFile):
	case err != nil:
		return otherwise(err, "no_tools", "name a file that can be read with --tools FILE or PAWL_TOOLS", statusUsage)
	default:
		t.tools = place.Path
		if t.declared, err = declarations(place.Path); err != nil {
			return err
		}
	}
	if t.used, t.names, err = usedTools(folder.Tools(), t.declared); err != nil {
		return err
	}
	if t.answers, err = readAnswers(c.Fakes, c.Dir, t.declared); err != nil {
		return err
	}
	t.standIns = makeStandIns(t.declared, t.used, t.answers)
	if c.Real {
		t.witness = &witness{plan: &t.standIns.plan, declared: t.declared, answers: map[answered][]string{}}
		return t.permitted()
	}
	return nil
}

func (t *crashTest) run(ctx context.Context) error {
	view := newMatrixView(t.g, t.command.Parallel, func(tool string) string { return tool })
	view.blind, view.clear = t.witness != nil, t.clear
	view.say("A clean run first, then one for each boundary: killed there with SIGKILL, resumed in a fresh process.")
	config := &crashtest.Config{
		Workflow: t.command.Dir, Input: t.input, Dir: t.dir, Begin: view.begin, Progress: view.row,
		Points: t.points, Parallel: t.command.Parallel, Child: t.child,
	}
	switch {
	case t.witness != nil:
		t.watch(config, view)
	case len(t.used) > 0:
		config.Receivers = t.receivers
		if t.points == nil || slices.Contains(t.points, crashtest.Fault) {
			config.Modes = crashtest.Modes()
		}
		if err := writeFile(t.planFile(), t.standIns.plan); err != nil {
			return err
		}
	}
	report, err := crashtest.Run(ctx, config)
	if err != nil {
		return t.failed(err)
	}
	return t.tell(view, report)
}

// tell tells what became of the rows. A row that is not as it must be, or a tool
// whose class is a lie, makes the exit status.
func (t *crashTest) tell(view *matrixView, report *crashtest.Report) error {
	if len(report.Rows) == 0 && len(t.points) > 0 {
		return &problem{
			Code: "no_rows", Message: "no boundary of the run is one of the points that were asked for, so nothing was tried",
			Hint: "leave out --points to see which there are", Status: statusUsage,
		}
	}
	report.Lies = append(report.Lies, t.witness.lies()...)
	if err := view.print(report); err != nil {
		return err
	}
	if err := t.tellUntested(report); err != nil {
		return err
	}
	if t.command.JUnit != "" {
		if err := writeJUnit(t.command.JUnit, report); err != nil {
			return noJUnit(err)
		}
	}
	if report.Summary().Mismatches > 0 || len(report.Lies) > 0 {
		return exitStatus(statusFailed)
	}
	return nil
}

func (t *crashTest) planFile() string { return filepath.Join(t.dir, "plan.json") }

func writeFile(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// detourFile is where a row's directory says how its tools are led.
func detourFile(dir string) string { return filepath.Join(dir, "detour.json") }

// child is this program again, as one process of a run.
func (t *crashTest) child(dir string, r crashtest.Receivers) (*exec.Cmd, error) {
	args := []string{"crash-child"}
	if t.tools != "" {
		args = append(args, "--tools", t.tools)
	}
	if r != nil {
		args = append(args, "--detour", detourFile(dir))
	}
	return again(args...)
}

// again is this program with other arguments.
func again(args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program cannot be started again: %w", err)
	}
	cmd := exec.Command(self, args...)
	return cmd, nil
}
