package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/toolfile"
	pawl "github.com/pawl-dev/pawl/runtime"
)

type serveCommand struct {
	Dirs   []string `arg:"" optional:"" name:"dir" complete:"dir" help:"Folders of workflows to build and deploy first."`
	Listen string   `help:"Loopback address to listen at; port 0 takes any that is free. Default: 127.0.0.1:7717." default:"127.0.0.1:7717" placeholder:"HOST:PORT"`
	Paused bool     `help:"Do not go on with the runs that are open until the recovery is let go, in the panel or by POST api/v1/recovery."`
	Log    string   `help:"How to write the log, to standard error: ${enum}." enum:"text,json" default:"text"`
}

// Help says how it ends.
func (*serveCommand) Help() string {
	return "Serves the panel, the API under api/v1, /metrics, /healthz (the process lives) and /readyz (it can be given work). " +
		"Traces go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, if that is set. " +
		"While it has the data directory, pawl run, resume, runs and show work through it. " +
		"SIGTERM or an interrupt stops it in good order, with exit status 0 and every run resumable; a second one ends it at once."
}

// Run is the command.
func (c *serveCommand) Run(ctx context.Context, g *Globals) (err error) {
	logger := c.logger(g)
	listener, err := listenLoopback(ctx, c.Listen)
	if err != nil {
		return err
	}
	f := openFront(listener, logger)
	defer func() { err = errors.Join(err, f.close()) }()
	s, err := c.open(ctx, g, f, logger)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil // stopped before there was anything to stop
		}
		return err
	}
	defer s.close(&err)
	if err := s.announce(g); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-f.failed:
		return otherwise(f.err, "not_listening", "start the server again; every run is resumable", statusUnavailable)
	}
	return nil
}

func (c *serveCommand) logger(g *Globals) *slog.Logger {
	switch c.Log {
	case "json":
		return slog.New(slog.NewJSONHandler(g.stderr, nil))
	case "text":
		return slog.New(slog.NewTextHandler(g.stderr, nil))
	}
	return slog.New(slog.DiscardHandler) // of the demo
}

// open opens the engine, with all that the server does before it is ready.
func (c *serveCommand) open(ctx context.Context, g *Globals, f *front, logger *slog.Logger) (s *server, err error) {
	tools, err := c.tools(g)
	if err != nil {
		return nil, err
	}
	for _, dir := range c.Dirs {
		if _, err := buildModules(ctx, g, dir, dir); err != nil {
			return nil, err
		}
	}
	s, err = openServer(ctx, g, f, pawl.Options{Tools: tools, Paused: c.Paused, Logger: logger})
	if err != nil {
		return nil, err
	}
	for _, dir := range c.Dirs {
		if _, err := g.deploy(ctx, s.workplace, dir); err != nil {
			s.close(&err)
			return nil, err
		}
	}
	s.begin()
	return s, nil
}

// tools are those of the flag or the environment, or of the one folder that has
// a tools file: an engine has one set of tools.
func (c *serveCommand) tools(g *Globals) (*host.Registry, error) {
	folder, found := ".", ""
	if len(c.Dirs) > 0 {
		folder = c.Dirs[0]
	}
	for _, dir := range c.Dirs {
		file := filepath.Join(dir, toolfile.Name)
		if cmp.Or(g.Tools, os.Getenv("PAWL_TOOLS")) != "" || !exists(file) {
			continue
		}
		if found != "" {
			return nil, &problem{
				Code: "two_tools_files", Message: fmt.Sprintf("both %s and %s have a tools file, and a server has one set of tools", found, dir),
				Hint: "name one file with --tools FILE or PAWL_TOOLS", Status: statusUsage,
			}
		}
		folder, found = dir, dir
	}
	tools, _, err := g.tools(folder)
	return tools, err
}
