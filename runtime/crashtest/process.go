package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// process is a child as the parent sees it.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	says  chan message // closed when the child's output ends
	bad   error        // why it ended, if not by its end; valid after says is closed
	noise tail         // what it wrote to its standard error
	stop  func() bool  // ends the watch over ctx
	once  sync.Once
	ended error // what cmd.Wait said
}

// begin starts a child with its order. It is killed when ctx ends.
func begin(ctx context.Context, cmd *exec.Cmd, o order) (*process, error) {
	p := &process{cmd: cmd, says: make(chan message)}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &p.noise
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a child process cannot be started: %w", err)
	}
	p.stop = context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it may have ended by itself
	go p.listen(out)
	if err := p.tell(o); err != nil {
		p.abandon()
		return nil, fmt.Errorf("the child takes no order: %w%s", err, p.noise.String())
	}
	return p, nil
}

// listen passes on what the child says.
func (p *process) listen(out io.Reader) {
	defer close(p.says)
	d := json.NewDecoder(out)
	for {
		var m message
		if err := d.Decode(&m); err != nil {
			if !errors.Is(err, io.EOF) {
				p.bad = fmt.Errorf("the child said something else: %w", err)
			}
			return
		}
		p.says <- m
	}
}

func (p *process) tell(what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(text, '\n'))
	return err
}

// next waits until the child says what is expected.
func (p *process) next(ctx context.Context, want string) (message, error) {
	m, ok := <-p.says
	if !ok {
		_ = p.end() // told below; only then all is here that it wrote
	}
	switch {
	case !ok && ctx.Err() != nil:
		return m, fmt.Errorf("waited for the child to be %s: %w", want, context.Cause(ctx))
	case !ok:
		return m, fmt.Errorf("the child ended before it was %s%s", want, p.noise.String())
	case m.Error != "":
		return m, fmt.Errorf("the child: %s", m.Error)
	case m.Say != want:
		return m, fmt.Errorf("the child is %s, not %s", m.Say, want)
	}
	return m, nil
}

// kill kills the child where it stands, and makes sure that this was its end.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("the child cannot be killed: %w", err)
	}
	_ = p.end() // by the signal: looked at in the next line
	if how := p.cmd.ProcessState.String(); how != "signal: killed" {
		return fmt.Errorf("the child was to be killed and ended otherwise (%s)%s", how, p.noise.String())
	}
	return nil
}

// end waits for the end of a child that has nothing more to do. Its input stays
// open until then: the end of that would mean that this process is gone.
func (p *process) end() error {
	p.once.Do(func() {
		for range p.says {
		}
		if err := p.cmd.Wait(); err != nil {
			p.ended = fmt.Errorf("the child: %w%s", err, p.noise.String())
		}
		p.stop()
	})
	return errors.Join(p.bad, p.ended)
}

// abandon ends a child whatever it does.
func (p *process) abandon() {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	_ = p.end()
}

// tail keeps the last part of a child's noise.
type tail struct {
	mu   sync.Mutex // guards text
	text []byte
}

const maxNoise = 8 << 10

func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if over := len(t.text) - maxNoise; over > 0 {
		t.text = t.text[over:]
	}
	return len(text), nil
}

// String is what was kept, for the end of an error.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.text)); text != "" {
		return "; it wrote: " + text
	}
	return ""
}

// limit is a context for one process.
func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("no end within %s", d))
}
