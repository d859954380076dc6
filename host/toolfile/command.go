package toolfile

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// commandTimeout is how long a command may take.
	commandTimeout = 10 * time.Second
	// keepValue is how long a command's value is taken for present. A run of many
	// calls would otherwise unlock a password store for each.
	keepValue = time.Minute
	// keepFailure is how long those that wait for a command take its failure for
	// theirs, lest they all fail one after the other.
	keepFailure = time.Second
	// closeDelay is how long the output may stay open when the command has ended.
	closeDelay = time.Second
)

// command is a secret that a program prints.
type command struct {
	args []string
	dir  string
	cut  *cutter
	turn chan struct{} // holds a token while the program runs

	mu    sync.Mutex // guards the rest
	value string     // of the last time that it worked
	err   error      // of the last time
	until time.Time  // when the last time stops to count
}

func newCommand(args []string, dir string, cut *cutter) *command {
	return &command{args: args, dir: dir, cut: cut, turn: make(chan struct{}, 1)}
}

// read returns what the program prints, or has printed a moment ago. One
// program runs at a time; everybody else waits for it.
func (c *command) read(ctx context.Context) (string, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return "", fmt.Errorf("its command did not end in time: %w", ctx.Err())
	}
	defer func() { <-c.turn }()
	if c.counts() {
		return c.present()
	}
	value, err := c.run(ctx)
	c.keep(ctx, value, err)
	return c.present()
}

// counts reports whether the last time is so short ago that it counts.
func (c *command) counts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.until)
}

// present is what came of the last time. Only who has the turn changes it.
func (c *command) present() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", c.err
	}
	return c.value, nil
}

func (c *command) keep(ctx context.Context, value string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	switch {
	case err == nil:
		c.value, c.until = value, time.Now().Add(keepValue)
	case ctx.Err() == nil: // else it says something of who asked, not of the command
		c.until = time.Now().Add(keepFailure)
	}
}

// refused drops the value if it is the one that is kept.
func (c *command) refused(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && c.value == value {
		c.until = time.Time{}
	}
}

// last is the value that is kept, however old.
func (c *command) last() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value
}

// run starts the program without a shell and waits until it has ended. With ctx
// end it and all that it has started in its process group.
func (c *command) run(ctx context.Context) (string, error) {
	ctx, stop := context.WithTimeoutCause(ctx, commandTimeout, errSlow)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &head{limit: maxSecret, full: func() { cancel(errLong) }}
	complaints := &tail{}
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = c.dir, out, complaints, closeDelay
	group(cmd)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = cmd.Cancel() // what the program has left behind
		err = errors.New("it has left a process behind that keeps its output open")
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	value := withoutLineEnd(out.text.String())
	if err == nil && value == "" {
		err = errors.New("it printed nothing")
	}
	if err == nil {
		return value, nil
	}
	message := fmt.Sprintf("command %s: %v", c.args[0], err)
	if line := c.cut.text(complaints.lastLine(), strings.Split(value, "\n")); line != "" {
		message += ": " + line
	}
	return "", errors.New(message)
}

var (
	errSlow = fmt.Errorf("it did not end within %s and was killed", commandTimeout)
	errLong = fmt.Errorf("it printed more than %d bytes", maxSecret)
)
