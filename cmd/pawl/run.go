package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type runCommand struct {
	Dir   string        `arg:"" optional:"" complete:"dir" default:"." help:"Folder of the workflow."`
	Input string        `help:"The run's input as JSON; - reads standard input. Without it the input is null." placeholder:"FILE" complete:"file"`
	ID    string        `name:"id" help:"Your own id of the run. The same id again is the same run."`
	Wait  time.Duration `help:"Wait for a timer that is due within this time, else exit with status 3." default:"60s"`
}

// Run is the command.
func (c *runCommand) Run(ctx context.Context, g *Globals) (err error) {
	input, err := c.input(g)
	if err != nil {
		return err
	}
	tools, missing, err := g.tools(c.Dir) // before the build, which may take long
	if err != nil {
		return err
	}
	if _, err := buildModules(ctx, g, c.Dir, c.Dir); err != nil {
		return err
	}
	p := newProgress(g)
	k, err := g.open(ctx, pawl.Options{Tools: tools, Observer: p.observer()})
	if err != nil {
		return err
	}
	defer k.close(&err)
	digest, err := g.deploy(ctx, k, c.Dir)
	if err != nil {
		return err
	}
	run, err := k.start(ctx, &startOrder{Digest: digest, ID: c.ID, Input: input, Longest: c.Wait})
	if err != nil {
		return c.refused(err, hereOnly(k, missing))
	}
	f := &following{g: g, run: run, progress: p, dir: c.Dir}
	begun := run.begun()
	p.begin(begun)
	if begun.Workflow.Digest != digest {
		f.newer(begun, digest)
	}
	after, err := f.wait(ctx)
	if err != nil {
		return named(err, begun.ExternalID)
	}
	return f.end(after, after)
}

// deploy makes the folder's workflow known and returns its digest.
func (g *Globals) deploy(ctx context.Context, k keeper, dir string) (string, error) {
	root, err := openFolder(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	s := &stages{g: g, silent: slowBuild}
	s.next("Compiling the workflow's modules for this machine")
	defer s.end()
	digest, err := k.deployFolder(ctx, root.FS())
	return digest, invalidFolder(err)
}

// hereOnly is what is missing here, if that is where the run is executed.
func hereOnly(k keeper, missing error) error {
	if _, here := k.(*workplace); here {
		return missing
	}
	return nil
}

// input reads the run's input.
func (c *runCommand) input(g *Globals) (json.RawMessage, error) {
	var text []byte
	var err error
	switch c.Input {
	case "":
		return json.RawMessage("null"), nil
	case "-":
		text, err = io.ReadAll(g.stdin)
	default:
		text, err = os.ReadFile(c.Input)
	}
	if err != nil {
		return nil, &problem{
			Code: "no_input", Message: fmt.Sprintf("the input cannot be read: %v", err),
			Hint: "give a JSON file with --input FILE, or - for standard input", Status: statusUsage,
		}
	}
	var syntax *json.SyntaxError
	err = json.Unmarshal(text, new(any))
	if errors.As(err, &syntax) {
		line, column := position(text, syntax.Offset)
		return nil, &problem{
			Code: "invalid_input", Message: fmt.Sprintf("%s:%d:%d: %v", c.Input, line, column, syntax),
			Hint: "mend the input; nothing was stored", Status: statusUsage,
		}
	}
	return text, err
}

// position is the line and the column, from 1, of the byte before offset.
func position(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// refused says why a run was not begun. missing, if not nil, says where no
// tools file was found.
func (c *runCommand) refused(err, missing error) error {
	p := *problemOf(otherwise(named(err, c.ID), "not_started", "see pawl run --help", statusUsage))
	var incompatible *pawl.IncompatibleError
	var input *pawl.InputError
	switch {
	case errors.Is(err, pawl.ErrInvalidInput) && !errors.As(err, &input):
		p.Hint = "give another --id; nothing was stored"
	case errors.Is(err, pawl.ErrIncompatible) && missing != nil:
		p.Hint = message(missing)
	case errors.As(err, &incompatible) && incompatible.Run == "":
		p.Hint = "describe what is missing in the tools file; nothing was stored"
	case errors.Is(err, pawl.ErrInvalidInput) && c.Input == "":
		p.Hint = "give the input with --input FILE, or - for standard input; nothing was stored"
	}
	return &p
}
