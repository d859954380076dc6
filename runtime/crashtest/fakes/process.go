package fakes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// Process is a running process of receivers. It is safe for concurrent use.
type Process struct {
	cmd    *exec.Cmd
	in     io.Closer // when it ends, so does the process
	addr   string
	client *http.Client
	read   chan struct{} // closed when the process has said its last

	mu    sync.Mutex // guards what follows
	holds []hold
}

// hold is an announcement that somebody waits for.
type hold struct {
	line string // how it begins
	held chan struct{}
}

var _ crashtest.Faulty = (*Process)(nil)

// Start starts the program with its ledgers in dir, on a free port of the
// loopback interface. The process ends with [Process.Close], and with this one
// whatever happens to it. ctx bounds the start.
func Start(ctx context.Context, program, dir string) (*Process, error) {
	return StartCommand(ctx, exec.Command(program), dir)
}

// StartCommand is [Start] for a program that needs arguments before those that
// are added here.
func StartCommand(ctx context.Context, cmd *exec.Cmd, dir string) (*Process, error) {
	cmd.Args = append(cmd.Args, "--listen", "127.0.0.1:0", "--ledger", dir, "--until-eof")
	cmd.Stderr = os.Stderr
	p := &Process{cmd: cmd, client: &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}, read: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("fakes: %s cannot be started: %w", cmd.Path, err)
	}
	listening := make(chan string, 1)
	go p.listen(out, listening)
	select {
	case addr, ok := <-listening:
		if !ok {
			return nil, errors.Join(fmt.Errorf("fakes: %s ended without an address", cmd.Path), p.Close())
		}
		p.addr = addr
		return p, nil
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), p.Close())
	}
}

// listen reads what the process says: its address, then announcements.
func (p *Process) listen(out io.Reader, listening chan<- string) {
	defer close(p.read)
	defer close(listening)
	lines := bufio.NewScanner(out)
	if lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening "); ok {
			listening <- addr
		}
	}
	for lines.Scan() {
		p.announced(lines.Text())
	}
	_, _ = io.Copy(io.Discard, out) // a line too long for the scanner must not block the process
}

func (p *Process) announced(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, h := range p.holds {
		if strings.HasPrefix(line, h.line) {
			close(h.held)
			p.holds = append(p.holds[:i:i], p.holds[i+1:]...)
			return
		}
	}
}

// Addr is the address of all receivers, such as "127.0.0.1:40123".
func (p *Process) Addr() string { return p.addr }

// Close ends the process and waits for it. What it holds is dropped.
func (p *Process) Close() error {
	p.client.CloseIdleConnections()
	_ = p.in.Close() // it may have ended by itself
	timer := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	<-p.read
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("fakes: the receivers: %w", err)
	}
	return nil
}
