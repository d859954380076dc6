package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// ChildConfig is what a child brings along.
type ChildConfig struct {
	// Tools are what steps can call. Defaults to none.
	Tools *host.Registry
	// CacheDir is where compiled modules are kept; children should share it.
	// Defaults to that of [pawl.Options].
	CacheDir string
	// In and Out are the pipes to the parent. Default to the process's standard
	// input and output.
	In  io.Reader
	Out io.Writer
}

// longest is how far ahead the timer of a resumed run may be.
const longest = time.Minute

// Child does what [Run], in the parent process, wants of this one. The process
// must end when it returns. It returns an error if the parent is gone or the
// order could not be carried out; the parent is told too.
func Child(ctx context.Context, c *ChildConfig) error {
	var config ChildConfig
	if c != nil {
		config = *c
	}
	if config.In == nil {
		config.In = os.Stdin
	}
	if config.Out == nil {
		config.Out = os.Stdout
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := json.NewDecoder(config.In)
	child := &child{config: config, out: json.NewEncoder(config.Out), told: make(chan struct{}, 1)}
	if err := d.Decode(&child.order); err != nil {
		return fmt.Errorf("crashtest: no order came from the parent process: %w", err)
	}
	go func() {
		for {
			var word string
			if err := d.Decode(&word); err != nil {
				cancel(errors.New("crashtest: the parent process is gone"))
				return
			}
			child.told <- struct{}{}
		}
	}()
	ended := make(chan error, 1)
	go func() { ended <- child.carryOut(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // whoever stands still at a boundary does so for ever
		return context.Cause(ctx)
	}
}

// child is this process, told to do something.
type child struct {
	config ChildConfig
	order  order
	told   chan struct{} // the parent said "go"

	mu     sync.Mutex // guards what follows
	out    *json.Encoder
	events []seen
}

func (c *child) say(m message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Encode(m)
}

// carryOut does what was ordered and tells the parent how that went.
func (c *child) carryOut(ctx context.Context) error {
	m, err := c.work(ctx)
	m.Say = sayDone
	if err != nil {
		m.Error = err.Error()
	}
	return errors.Join(err, c.say(m))
}

func (c *child) work(ctx context.Context) (m message, err error) {
	opts := new(kv.Options)
	if c.order.Do == doCrash {
		// What nobody waits for is not written before the kill, so that all of it
		// is lost: that is exact, and the worst that a crash can do.
		opts.Linger = 24 * time.Hour
	}
	store, err := kv.Open(c.order.Store, opts)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, err := pawl.Open(ctx, store, &pawl.Options{
		Tools: c.config.Tools, CacheDir: c.config.CacheDir, NoRecovery: true, Observer: c.observer(ctx.Done(), store),
	})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	run, err := c.run(ctx, engine)
	if err != nil {
		return m, err
	}
	checkpoint, err := c.end(ctx, run)
	if err != nil {
		return m, err
	}
	if m.Checkpoint, err = json.Marshal(checkpoint); err != nil {
		return m, err
	}
	switch c.order.Do {
	case doClean:
		c.tellAll(&m, checkpoint)
	case doCrash:
		return m, fmt.Errorf("the run ended (%s) without coming to %s", checkpoint.State, c.order.At.Name)
	}
	if err := engine.Check(); err != nil && c.order.Do != doShow {
		m.Check = err.Error()
	}
	return m, nil
}

// run begins the run, or finds the one that is there.
func (c *child) run(ctx context.Context, engine *pawl.Engine) (*pawl.Run, error) {
	switch c.order.Do {
	case doShow:
		return engine.Find(externalID)
	case doResume:
		run, err := engine.Find(externalID)
		if err == nil {
			err = run.Resume()
		}
		return run, err
	}
	workflow, err := engine.Deploy(ctx, os.DirFS(c.order.Workflow))
	if err != nil {
		return nil, err
	}
	return pawl.Start(ctx, workflow, externalID, c.order.Input, &pawl.StartOptions{KeyRoot: c.order.Root})
}

// end waits until the run rests.
func (c *child) end(ctx context.Context, run *pawl.Run) (*pawl.Checkpoint, error) {
	if c.order.Do == doShow {
		return run.Checkpoint()
	}
	return run.Wait(ctx, longest)
}

// observer is what watches the run for this order.
func (c *child) observer(gone <-chan struct{}, store kv.Store) pawl.Observer {
	switch c.order.Do {
	case doClean:
		return c.record
	case doCrash, doFault:
		g := &gate{at: c.order.At, child: c, store: store, gone: gone}
		return g.observe
	}
	return nil
}

func (c *child) record(e pawl.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, seen{Kind: e.Kind, Step: e.Step, Attempt: e.Attempt, Call: e.Call, Tool: e.Tool, Use: e.Use, Try: e.Try, Applied: e.Kind == pawl.Answered && e.Outcome == host.OutcomeApplied})
}

// tellAll puts in what the matrix is made from.
func (c *child) tellAll(m *message, checkpoint *pawl.Checkpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.Seen, m.Contracts = c.events, map[string]host.Contract{}
	for _, step := range checkpoint.Steps {
		for _, call := range step.Calls {
			id := operatorID(&call)
			if tool, ok := c.config.Tools.Tool(id); ok {
				m.Contracts[id] = tool.Contract().WithDefaults()
			}
		}
	}
}

// operatorID is the id of the tool that a call reached.
func operatorID(call *pawl.CallCheckpoint) string {
	if call.Use != "" {
		return call.Use
	}
	return call.Tool
}
