package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
)

// demoRun is a run that the panel is left open on.
type demoRun struct {
	ticket string
	shows  string
	faults []fakes.Fault
	// hold is the call at which the run's process is killed; empty for none.
	hold string
	when crashtest.When
}

// demoRuns are those runs, one of each kind that people meet first.
func demoRuns() []demoRun {
	return []demoRun{
		{ticket: "t1", shows: "completed"},
		{ticket: "t2", shows: "killed before its payment arrived, goes on by itself", hold: "pay.refund", when: crashtest.Before},
		{ticket: "t9", shows: "killed when its mail was sent and nobody knew, goes on by itself", hold: "mail.send", when: crashtest.After},
		{ticket: "t4", shows: "failed: the ticket is closed, and no other attempt would help"},
		{
			ticket: "t3", shows: "waits for a person: nobody knows whether the order is held. The order desk answers again: press resume",
			faults: []fakes.Fault{{Tool: "orders.hold", Mode: "lost"}, {Tool: "orders.hold.verify", Mode: "503", Times: -1}},
		},
	}
}

// serve leaves the panel open on some runs until the program is told to stop.
// The services stay up, so that more can be started.
func (c *demoCommand) serve(ctx context.Context, g *Globals, built *demoFiles, dir string) (err error) {
	dir = filepath.Join(dir, "panel")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	receivers, err := startServices(ctx, built, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receivers.Close()) }()
	services, ok := receivers.(*fakes.Process)
	if !ok {
		return fmt.Errorf("the services are a %T", receivers)
	}
	there := *g
	there.Data, there.Tools = filepath.Join(dir, "data"), filepath.Join(dir, toolfile.Name)
	p := newMatrixView(g, demoParallel, serviceOf)
	p.say("\nThe panel is opened on these runs:")
	for _, r := range demoRuns() {
		if err := r.make(ctx, &there, built, services); err != nil {
			return err
		}
		p.say("  refund-%s  %s", r.ticket, r.shows)
	}
	if err := services.Set(ctx, fakes.Fault{Tool: "orders.hold.verify", Mode: "ok"}); err != nil {
		return err
	}
	p.say("Start another under Workflows, with the text of a file in examples/refund/tickets. ^C ends it and removes everything.")
	server := &serveCommand{Dirs: []string{built.dir}, Listen: c.Listen}
	return server.Run(ctx, &there)
}

// make makes the run in a process of its own.
func (r *demoRun) make(ctx context.Context, g *Globals, built *demoFiles, services *fakes.Process) error {
	for _, f := range r.faults {
		if err := services.Set(ctx, f); err != nil {
			return err
		}
	}
	var held <-chan struct{} // never ready without a hold
	if r.hold != "" {
		var err error
		if held, err = services.Hold(ctx, r.hold, r.when); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program cannot be started again: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, "run", built.dir, "--id", "refund-"+r.ticket, "--wait", "0s",
		"--input", filepath.Join(filepath.Dir(built.ticket), r.ticket+".json"), "--data", g.Data, "--tools", g.Tools)
	cmd.Env = append(os.Environ(), "PAWL_CACHE="+built.cache)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended: // how the run stands is its exit status
	case <-held:
		_ = cmd.Process.Kill() // if it has ended the panel shows that
		err = <-ended
	}
	if err != nil && !is[*exec.ExitError](err) {
		return err
	}
	return ctx.Err()
}
