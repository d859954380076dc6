package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
)

// demoCommand is the refund example, killed at every boundary.
type demoCommand struct {
	Keep   bool              `help:"Keep the stores and ledgers of all runs, and say where they are."`
	Serve  bool              `help:"Then leave the panel open on some of its runs, with the services up, until told to stop."`
	Listen string            `help:"Loopback address of the panel. Default: any free port of 127.0.0.1." default:"127.0.0.1:0" placeholder:"HOST:PORT"`
	Points []crashtest.Point `hidden:"" help:"Make only the rows of these points, such as H3."`
}

// demoParallel is how many rows are under way at once.
const demoParallel = 2

// Run is the command.
func (c *demoCommand) Run(ctx context.Context, g *Globals) error {
	err := c.run(ctx, g)
	if err != nil && ctx.Err() != nil && !is[exitStatus](err) {
		return &problem{
			Code: "interrupted", Message: "the demo was stopped before its end",
			Hint: "repeat the command: a demo always begins anew", Status: statusInterrupted,
		}
	}
	return err
}

func (c *demoCommand) run(ctx context.Context, g *Globals) (err error) {
	root, err := findSource()
	if err != nil {
		return err
	}
	built, err := buildDemo(ctx, g, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, built.close()) }()
	dir, err := os.MkdirTemp("", "pawl-demo-")
	if err != nil {
		return err
	}
	if c.Keep {
		defer g.notice("kept", "The stores and ledgers of all runs are in %s", dir)
	} else {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	view := newMatrixView(g, demoParallel, serviceOf)
	report, err := c.crash(ctx, view, built, dir)
	if err != nil {
		return otherwise(err, "demo_failed", "pawl demo --keep leaves the stores and ledgers for you to look at", statusFailed)
	}
	err = view.end(report)
	if c.Serve && (err == nil || is[exitStatus](err)) {
		err = errors.Join(c.serve(ctx, g, built, dir), err)
	}
	return err
}

// crash makes the matrix.
func (c *demoCommand) crash(ctx context.Context, view *matrixView, built *demoFiles, dir string) (*crashtest.Report, error) {
	input, err := os.ReadFile(built.ticket)
	if err != nil {
		return nil, err
	}
	view.say("A clean run first, then one for each boundary: killed there with SIGKILL, resumed in a fresh process.")
	return crashtest.Run(ctx, &crashtest.Config{
		Workflow: built.dir, Input: input, Dir: dir, Begin: view.begin, Progress: view.row,
		Points: c.Points, Parallel: demoParallel,
		Receivers: func(ctx context.Context, dir string) (crashtest.Receivers, error) {
			return startServices(ctx, built, dir)
		},
		Child: func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) { return demoChild(built, dir) },
	})
}

// servicesAddr is where the example's tools file looks for the services.
const servicesAddr = "127.0.0.1:7730"

// startServices starts the example's services for one run and writes a tools
// file that points to them.
func startServices(ctx context.Context, built *demoFiles, dir string) (crashtest.Receivers, error) {
	p, err := fakes.Start(ctx, built.services, filepath.Join(dir, "ledger"))
	if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(built.tools, servicesAddr, p.Addr())
	if err := os.WriteFile(filepath.Join(dir, toolfile.Name), []byte(text), 0o644); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// demoChild is this program again, as one process of a run.
func demoChild(built *demoFiles, dir string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program cannot be started again: %w", err)
	}
	cmd := exec.Command(self, "crash-child", "--tools", filepath.Join(dir, toolfile.Name))
	cmd.Env = append(os.Environ(), "PAWL_CACHE="+built.cache)
	return cmd, nil
}
