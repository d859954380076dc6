package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type resumeCommand struct {
	Ref     string        `arg:"" complete:"run" name:"run" help:"The run: its id, your id, a beginning or end of one that fits only it, or @last."`
	Dir     string        `arg:"" optional:"" complete:"dir" default:"." help:"Folder of the workflow, where tools.toml is looked for. If it holds other code than the run began with, that is told, no more."`
	Upgrade bool          `help:"Build and deploy the folder and move the run to it first, if the run's journal replays equal there. Nothing is sent while that is tried."`
	Wait    time.Duration `help:"Wait for a timer that is due within this time, else exit with status 3." default:"60s"`
}

// Run is the command.
func (c *resumeCommand) Run(ctx context.Context, g *Globals) (err error) {
	tools, missing, err := g.tools(c.Dir)
	if err != nil {
		return err
	}
	p := newProgress(g)
	k, err := g.openExisting(ctx, pawl.Options{Tools: tools, Observer: p.observer()})
	if err != nil {
		return err
	}
	defer k.close(&err)
	before, err := k.checkpoint(ctx, c.Ref)
	if err != nil {
		return err
	}
	f := &following{g: g, progress: p, dir: c.Dir, resumed: true}
	if before.State == pawl.StateCompleted {
		return f.end(before, before)
	}
	if c.Upgrade {
		if err := c.upgrade(ctx, g, k, before); err != nil {
			return err
		}
	} else {
		f.compare(ctx, before)
	}
	if f.run, err = k.resume(ctx, &resumeOrder{Run: before.Run, Longest: c.Wait}); err != nil {
		return c.refused(g, err, before, hereOnly(k, missing))
	}
	p.begin(before)
	after, err := f.wait(ctx)
	if err != nil {
		return named(err, before.ExternalID)
	}
	return f.end(before, after)
}

// upgrade moves the run to what the folder holds now.
func (c *resumeCommand) upgrade(ctx context.Context, g *Globals, k keeper, before *pawl.Checkpoint) error {
	if _, err := buildModules(ctx, g, c.Dir, c.Dir); err != nil {
		return err
	}
	digest, err := g.deploy(ctx, k, c.Dir)
	if err != nil || digest == before.Workflow.Digest {
		return err
	}
	if err := k.upgrade(ctx, before.Run, digest); err != nil {
		p := *problemOf(named(err, before.ExternalID))
		if errors.Is(err, pawl.ErrIncompatible) {
			p.Hint = "the run stays as it was, with its own code; change the folder so that it does the same up to there, or resume without --upgrade"
		}
		return &p
	}
	g.notice("upgraded", "Run %s moves from %s to %s, where its journal replays equal.",
		before.ExternalID, short(before.Workflow.Digest), short(digest))
	return nil
}

// refused says why the run does not go on. A run that waits for a person waits,
// whatever keeps it from going on.
func (c *resumeCommand) refused(g *Globals, err error, before *pawl.Checkpoint, missing error) error {
	p := *problemOf(named(err, before.ExternalID))
	if is[*pawl.StepError](err) {
		p.Status = statusOf(before.State)
		p.Hint = cmp.Or(advise(before, g.command("resume", before, c.Dir)), p.Hint)
	}
	if errors.Is(err, pawl.ErrIncompatible) && missing != nil {
		p.Hint = message(missing) + ", or give the workflow's folder: pawl resume " + c.Ref + " DIR"
	}
	return &p
}

// compare says so if the folder holds other code than the run is pinned to.
// Nothing about the folder keeps the run from going on.
func (f *following) compare(ctx context.Context, c *pawl.Checkpoint) {
	root, err := openFolder(f.dir)
	if err != nil {
		return
	}
	defer root.Close()
	folder, err := readFolder(root)
	if err != nil || folder.Name != c.Workflow.Name {
		return
	}
	digest := ""
	if _, err = buildModules(ctx, f.g, f.dir, f.dir); err == nil {
		digest, err = folder.Digest()
	}
	switch {
	case err != nil && ctx.Err() == nil:
		f.g.notice("folder_unusable", "The folder %s cannot be compared with run %s, which goes on with its own code: %s", f.dir, c.ExternalID, message(err))
	case err == nil && digest != c.Workflow.Digest:
		f.newer(c, digest)
	}
}

// newer says that the run goes on with its own code.
func (f *following) newer(c *pawl.Checkpoint, digest string) {
	f.g.notice("newer_code", "The folder holds newer code (%s) than run %s is pinned to (%s); %s goes on with its own.",
		short(digest), c.ExternalID, short(c.Workflow.Digest), c.ExternalID)
}

// short is a digest that a person can compare.
func short(digest string) string {
	const shown = len("sha256:") + 12
	if len(digest) <= shown {
		return digest
	}
	return fmt.Sprintf("%s...", digest[:shown])
}
