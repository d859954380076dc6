package main

import (
	"errors"
	"os"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
)

// toolKinds are the kinds of tools that a tools file can name.
func toolKinds() map[string]toolfile.Kind {
	return map[string]toolfile.Kind{"http": httptool.Kind}
}

// readTools reads a tools file.
func readTools(path string) (*host.Registry, error) { return toolfile.Load(path, toolKinds()) }

// tools are those that the flag, the environment or the folder names. A missing
// file is no error: a workflow may do without tools. Then the registry is nil
// and missing says where none was found.
func (g *Globals) tools(folder string) (tools *host.Registry, missing, err error) {
	place, err := toolfile.Find(g.Tools, os.Getenv("PAWL_TOOLS"), folder)
	if errors.Is(err, toolfile.ErrNoFile) {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, otherwise(err, "no_tools", "name a file that can be read with --tools FILE or PAWL_TOOLS", statusUsage)
	}
	tools, err = readTools(place.Path)
	return tools, nil, err
}

// toolsIfReadable are the tools for a command that only looks. Without them it
// cannot tell whether a run fits, and shows everything else.
func (g *Globals) toolsIfReadable(folder string) *host.Registry {
	tools, _, err := g.tools(folder)
	if err != nil {
		g.notice("tools_unreadable", "The tools file cannot be used, so runs are shown without comparing tools: %s", message(err))
		return nil
	}
	return tools
}
