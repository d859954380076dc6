package main

import (
	"context"

	pawl "github.com/pawl-dev/pawl/runtime"
)

type showCommand struct {
	Ref string `arg:"" complete:"run" name:"run" help:"The run: its id, your id, a beginning or end of one that fits only it, or @last."`
	Dir string `arg:"" optional:"" complete:"dir" default:"." help:"Folder in which tools.toml is looked for."`
}

// Run is the command.
func (c *showCommand) Run(ctx context.Context, g *Globals) (err error) {
	k, err := g.openExisting(ctx, pawl.Options{Tools: g.toolsIfReadable(c.Dir)})
	if err != nil {
		return err
	}
	defer k.close(&err)
	doc, err := k.checkpoint(ctx, c.Ref)
	if err != nil {
		return err
	}
	if g.JSON {
		return g.printJSON(doc)
	}
	p := &page{paint: g.paint(g.stdout), doc: doc, resume: g.command("resume", doc, c.Dir)}
	_, err = g.stdout.Write(p.render())
	return err
}
