package main

import (
	"context"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// childCommand is one process of a crash matrix; other commands start it.
type childCommand struct {
	Detour string `help:"File that says where the tools are led instead." type:"path"`
}

// Run is the command.
func (c *childCommand) Run(ctx context.Context, g *Globals) error {
	tools, err := c.tools(g)
	if err != nil {
		return err
	}
	return crashtest.Child(ctx, &crashtest.ChildConfig{Tools: tools, CacheDir: g.cacheDir(), In: g.stdin, Out: g.stdout})
}

func (c *childCommand) tools(g *Globals) (*host.Registry, error) {
	switch {
	case c.Detour != "":
		d, err := readDetour(c.Detour)
		if err != nil {
			return nil, err
		}
		return d.tools(g.Tools)
	case g.Tools != "":
		return readTools(g.Tools)
	}
	return nil, nil // the workflow does without
}
