package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// testCase is one run with a directory, a store and receivers of its own.
type testCase struct {
	config    *Config
	dir       string
	receivers Receivers // nil if there are none
}

func (t *tester) open(ctx context.Context, name string) (*testCase, error) {
	c := &testCase{config: &t.config, dir: filepath.Join(t.config.Dir, name)}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	if t.config.Receivers == nil {
		return c, nil
	}
	var err error
	if c.receivers, err = t.config.Receivers(ctx, c.dir); err != nil {
		return nil, fmt.Errorf("the receivers cannot be started: %w", err)
	}
	return c, nil
}

func (c *testCase) close() error {
	if c.receivers == nil {
		return nil
	}
	return c.receivers.Close()
}

// begin starts a child. ctx bounds its life.
func (c *testCase) begin(ctx context.Context, o order) (*process, error) {
	cmd, err := c.config.Child(c.dir, c.receivers)
	if err != nil {
		return nil, err
	}
	o.Store, o.Workflow, o.Input = filepath.Join(c.dir, "store"), c.config.Workflow, c.config.Input
	return begin(ctx, cmd, o)
}

// child lets a child carry out an order to its end.
func (c *testCase) child(ctx context.Context, o order) (message, error) {
	ctx, cancel := limit(ctx, c.config.Timeout)
	defer cancel()
	p, err := c.begin(ctx, o)
	if err != nil {
		return message{}, err
	}
	defer p.abandon()
	m, err := p.next(ctx, sayDone)
	if err != nil {
		return m, err
	}
	return m, p.end()
}

// killAt lets a child begin the run and kills it at the boundary.
func (c *testCase) killAt(ctx context.Context, b *boundary) error {
	ctx, cancel := limit(ctx, c.config.Timeout)
	defer cancel()
	p, err := c.begin(ctx, order{Do: doCrash, At: b})
	if err != nil {
		return err
	}
	defer p.abandon()
	switch b.Point {
	case H2:
		err = c.hold(ctx, p, b.Tool, Before)
	case H3:
		err = c.hold(ctx, p, b.Tool, After)
	default:
		_, err = p.next(ctx, sayReached)
	}
	if err != nil {
		return err
	}
	return p.kill()
}

// hold waits until the call is about to be made, has the receiver hold it, and
// lets it go out.
func (c *testCase) hold(ctx context.Context, p *process, tool string, when When) error {
	if _, err := p.next(ctx, sayArmed); err != nil {
		return err
	}
	held, err := c.receivers.Hold(ctx, tool, when)
	if err != nil {
		return fmt.Errorf("the receiver cannot be told to hold %s: %w", tool, err)
	}
	if err := p.tell("go"); err != nil {
		return err
	}
	select {
	case <-held:
		return nil
	case m, ok := <-p.says:
		if !ok {
			return errors.New("the child ended before the receiver held its call" + p.noise.String())
		}
		return fmt.Errorf("the child was to stand still in its call and is %s: %s", m.Say, m.Error)
	case <-ctx.Done():
		return fmt.Errorf("waited for the receiver to hold %s: %w", tool, context.Cause(ctx))
	}
}

// exact makes sure that the kill was where it should be, as the receivers saw
// it.
func (c *testCase) exact(ctx context.Context, b *boundary) error {
	if c.receivers == nil || b.Tool == "" || b.Stored {
		return nil
	}
	requests, err := c.receivers.Requests(ctx)
	if err != nil {
		return err
	}
	if got, want := reached(requests, b.Tool), b.requests(); got != want {
		return fmt.Errorf("the kill was not exact: the receiver had seen %d requests of %s, not %d", got, b.Tool, want)
	}
	return nil
}

func (c *testCase) effects(ctx context.Context) ([]Effect, error) {
	if c.receivers == nil {
		return nil, nil
	}
	return c.receivers.Effects(ctx)
}
