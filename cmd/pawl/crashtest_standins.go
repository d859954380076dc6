package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// standinsCommand is the process that stands in for the receivers of one run;
// crashtest starts it.
type standinsCommand struct {
	Plan     string `required:"" help:"File of the plan." type:"path"`
	Listen   string `default:"127.0.0.1:0" help:"Address to listen on."`
	Ledger   string `required:"" help:"Directory of the ledger." type:"path"`
	UntilEOF bool   `name:"until-eof" help:"Stop when standard input ends."`
}

// Run is the command.
func (c *standinsCommand) Run(ctx context.Context, g *Globals) error {
	text, err := os.ReadFile(c.Plan)
	if err != nil {
		return err
	}
	plan := new(standin.Plan)
	if err := json.Unmarshal(text, plan); err != nil {
		return err
	}
	if c.UntilEOF {
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		go func() {
			defer stop()
			_, _ = io.Copy(io.Discard, g.stdin) // an error is an end too
		}()
	}
	return standin.Serve(ctx, plan, standin.Options{Listen: c.Listen, Dir: c.Ledger, Say: g.stdout})
}

// ledgerDir is where the ledger of a row is.
func ledgerDir(dir string) string { return filepath.Join(dir, "ledger") }

// receivers starts the fakes of one run and says where its tools find them.
func (t *crashTest) receivers(ctx context.Context, dir string) (crashtest.Receivers, error) {
	cmd, err := again("crash-standins", "--plan", t.planFile())
	if err != nil {
		return nil, err
	}
	p, err := fakes.StartCommand(ctx, cmd, ledgerDir(dir))
	if err != nil {
		return nil, err
	}
	d := &detour{Addr: p.Addr(), StandIn: true, Unasked: t.standIns.unasked}
	if err := writeFile(detourFile(dir), d); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return newTranslated(p, t.names), nil
}

// translated are receivers that know tools by the operator's ids, for those who
// know them as the steps call them.
type translated struct {
	*fakes.Process
	name map[string]string // by id
	id   map[string]string // by name
}

func newTranslated(p *fakes.Process, names map[string]string) *translated {
	r := &translated{Process: p, name: names, id: map[string]string{}}
	for id, name := range names {
		r.id[name] = id
	}
	return r
}

// Hold implements [crashtest.Receivers].
func (r *translated) Hold(ctx context.Context, tool string, when crashtest.When) (<-chan struct{}, error) {
	return r.Process.Hold(ctx, r.id[tool], when)
}

// Fail implements [crashtest.Faulty].
func (r *translated) Fail(ctx context.Context, tool string, mode crashtest.Mode) error {
	return r.Process.Fail(ctx, r.id[tool], mode)
}

// Effects implements [crashtest.Receivers].
func (r *translated) Effects(ctx context.Context) ([]crashtest.Effect, error) {
	effects, err := r.Process.Effects(ctx)
	for i := range effects {
		effects[i].Tool = r.name[effects[i].Tool]
	}
	return effects, err
}

// Requests implements [crashtest.Receivers].
func (r *translated) Requests(ctx context.Context) ([]crashtest.Request, error) {
	requests, err := r.Process.Requests(ctx)
	for i := range requests {
		requests[i].Tool = r.name[requests[i].Tool]
	}
	return requests, err
}
