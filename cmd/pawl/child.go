package main

import (
	"context"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// childCommand is one process of a crash matrix; other commands start it.
type childCommand struct{}

// Run is the command.
func (*childCommand) Run(ctx context.Context, g *Globals) error {
	tools, err := readTools(g.Tools)
	if err != nil {
		return err
	}
	return crashtest.Child(ctx, &crashtest.ChildConfig{Tools: tools, CacheDir: g.cacheDir(), In: g.stdin, Out: g.stdout})
}
