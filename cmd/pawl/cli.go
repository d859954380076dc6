package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// cli is the command line.
type cli struct {
	Globals

	New     newCommand     `cmd:"" help:"Make a folder with a new workflow and its first step."`
	Build   buildCommand   `cmd:"" help:"Build the modules of a workflow from its Go sources."`
	Run     runCommand     `cmd:"" help:"Start a run of a workflow, or go on with it, and wait for it."`
	Resume  resumeCommand  `cmd:"" help:"Go on with a run where it stands."`
	Runs    runsCommand    `cmd:"" help:"List the runs, those that do not go on by themselves first."`
	Show    showCommand    `cmd:"" help:"Show how a run stands, and why it does not move."`
	Serve   serveCommand   `cmd:"" help:"Serve the panel and the API, and go on with all runs, until told to stop."`
	Version versionCommand `cmd:"" help:"Say which version this is, and which runs it can go on with."`
	Demo    demoCommand    `cmd:"" help:"Kill the refund example at every boundary, resume it, and count what happened."`

	Crashtest crashtestCommand `cmd:"" help:"Kill a workflow of your own at every boundary, resume it, and count what happened."`

	Completion completionCommand `cmd:"" help:"Print a script by which a shell completes commands, flags and runs."`

	CrashChild    childCommand    `cmd:"" hidden:""`
	CrashStandins standinsCommand `cmd:"" hidden:""`
}

// Globals are what every command has.
type Globals struct {
	Data  string `help:"Data directory. Default: .pawl in the current folder." env:"PAWL_DATA" default:".pawl" placeholder:"DIR" complete:"dir"`
	Tools string `help:"Tools file; else PAWL_TOOLS, else tools.toml beside the workflow." placeholder:"FILE" complete:"file"`
	JSON  bool   `name:"json" help:"Write JSON, errors too."`

	stdin          io.Reader
	stdout, stderr io.Writer
}

// cacheDir is where compiled modules are kept; empty for the user's cache
// directory.
func (g *Globals) cacheDir() string { return os.Getenv("PAWL_CACHE") }

// printJSON writes one line of JSON to standard output.
func (g *Globals) printJSON(v any) error { return writeJSON(g.stdout, v) }

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// notice tells the person something that is neither progress nor an error.
func (g *Globals) notice(code, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if g.JSON {
		g.lineJSON("notice", map[string]string{"code": code, "message": message})
		return
	}
	fmt.Fprintln(g.stderr, plain(message)) // it may quote a file
}

// lineJSON writes {"kind":value} to standard error. If nobody reads it there is
// nobody to tell.
func (g *Globals) lineJSON(kind string, value any) {
	_ = writeJSON(g.stderr, map[string]any{kind: value})
}
