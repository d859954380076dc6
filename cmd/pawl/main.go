package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	// A reader of the output that ends, such as head, must not end a run: with a
	// listener there is an error instead of a signal. Ignoring it would be handed
	// down to the programs that are started.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process at once: nothing is lost by it.
	context.AfterFunc(ctx, stop)
	status := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the whole program. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{Writer: stdout}
	c := &cli{Globals: Globals{stdin: stdin, stdout: out, stderr: stderr}}
	ended := -1 // by --help
	parser, err := kong.New(c,
		kong.Name("pawl"),
		kong.Description("Runs workflows of WebAssembly steps. A run that is killed anywhere goes on from where it was, each effect once."),
		kong.UsageOnError(),
		kong.Vars{"states": states()},
		kong.Help(help),
		kong.Writers(out, stderr),
		kong.Exit(func(status int) { ended = status }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&c.Globals),
	)
	if err != nil { // a mistake in cli
		return report(&c.Globals, err)
	}
	if len(args) > 0 && args[0] == completeVerb {
		complete(ctx, &c.Globals, parser.Model, args[1:], out)
		return statusCompleted
	}
	command, err := parser.Parse(args)
	switch {
	case ended >= 0:
		return report(&c.Globals, out.lost(exitStatus(ended)))
	case out.err != nil && errors.Is(err, out.err): // the help
		return report(&c.Globals, out.lost(err))
	case err != nil:
		c.JSON = c.JSON || slices.Contains(args, "--json") // it may stand behind the mistake
		return report(&c.Globals, usage(err))
	}
	return report(&c.Globals, out.lost(command.Run()))
}

// exitStatuses are told by --help.
const exitStatuses = `
Exit status:
  0    completed
  1    failed, cancelled, or a check not passed
  2    the command line or a file is wrong
  3    waits for a person or a timer; the run is safe
  4    refused: incompatible, conflict, denied
  5    the store is locked or unavailable
  130  interrupted; the run is resumable
A server that was told to stop, and did in good order, ends with 0.
`

// help is kong's, with the exit statuses below that of the whole program.
func help(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	_, err := io.WriteString(ctx.Stdout, exitStatuses)
	return err
}

// usage is what is wrong with the command line.
func usage(err error) error {
	p := &problem{Code: "usage", Message: err.Error(), Hint: "pawl --help", Status: statusUsage}
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if command := parse.Context.Selected(); command != nil {
			p.Hint = "pawl " + command.Name + " --help"
		}
	}
	return p
}
