package main

import (
	"embed"
	"fmt"
)

// completions are the scripts for shells. They ask the program itself, so that
// they never differ from it: see complete.
//
//go:embed completion
var completions embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how to use it.
func (*completionCommand) Help() string {
	return "For bash: source <(pawl completion bash), in ~/.bashrc. For zsh: source <(pawl completion zsh), in ~/.zshrc after compinit. " +
		"For fish: pawl completion fish | source, in config.fish. Runs are completed too, unless a process that is no server has the data directory open."
}

// Run is the command.
func (c *completionCommand) Run(g *Globals) error {
	script, err := completions.ReadFile("completion/" + c.Shell)
	if err != nil {
		return err
	}
	if g.JSON {
		return g.printJSON(map[string]string{"shell": c.Shell, "script": string(script)})
	}
	_, err = fmt.Fprintf(g.stdout, "%s", script)
	return err
}
