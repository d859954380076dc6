package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// childVariable holds the task of a test process that another one started.
const childVariable = "PAWL_RUNTIME_TEST_CHILD"

// task is what a process of its own does with a run.
type task struct {
	Store, Tools, Folder string
	// Op is start, resume, recover (open the engine with recovery and wait) or
	// show.
	Op, ID string
	Input  json.RawMessage
	// Longest is how long a timer may be that is waited for.
	Longest time.Duration
	// Hold makes the process stop for ever at this boundary, having said so.
	Hold     pawl.EventKind
	HoldTool string
	HoldTry  int // 0: any
	// Delay is the longest that a record takes to be written.
	Delay time.Duration
	// HoldAttempt is the attempt that it must be in; 0: any.
	HoldAttempt int
}

// outcome is what the process says in the end.
type outcome struct {
	Before, After *pawl.Checkpoint
	Error         string
	Resumption    *pawl.Resumption
}

// childMain does the task, if this process was started for one.
func childMain() (code int, ok bool) {
	if dir := os.Getenv(poisonVariable); dir != "" {
		if err := poisonMain(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}
	text := os.Getenv(childVariable)
	if text == "" {
		return 0, false
	}
	var k task
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err)
	}
	var out outcome
	if err := k.do(&out); err != nil {
		out.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return 1, true
	}
	return 0, true
}

func (k *task) do(out *outcome) (err error) {
	tools, err := toolfile.Load(k.Tools, map[string]toolfile.Kind{"http": httptool.Kind})
	if err != nil {
		return err
	}
	store, err := kv.Open(k.Store, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if k.Delay > 0 {
		store = delayed{store, k.Delay}
	}
	opts := &pawl.Options{Tools: tools, CacheDir: cacheDir(), NoRecovery: k.Op != "recover"}
	if k.Hold != "" {
		opts.Observer = k.hold
	}
	engine, err := pawl.Open(context.Background(), store, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Check(), agree(engine), engine.Close()) }()
	run, err := k.enter(engine, out)
	if err != nil {
		return err
	}
	if out.After, err = run.Wait(context.Background(), k.Longest); err != nil {
		return err
	}
	if out.Before != nil {
		r := pawl.CompareResume(out.Before, out.After)
		out.Resumption = &r
	}
	return nil
}

func (k *task) enter(engine *pawl.Engine, out *outcome) (*pawl.Run, error) {
	if k.Op == "start" {
		w, err := engine.Deploy(context.Background(), os.DirFS(k.Folder))
		if err != nil {
			return nil, err
		}
		return pawl.Start(context.Background(), w, k.ID, k.Input, nil)
	}
	run, err := engine.Find(k.ID)
	if err != nil {
		return nil, err
	}
	if out.Before, err = run.Checkpoint(); err != nil {
		return nil, err
	}
	if k.Op == "resume" {
		err = run.Resume()
	}
	return run, err
}

// hold is the observer that stops the process's run at its boundary.
func (k *task) hold(e pawl.Event) {
	if e.Kind == k.Hold && (k.HoldTool == "" || e.Tool == k.HoldTool) &&
		(k.HoldTry == 0 || e.Try == k.HoldTry) && (k.HoldAttempt == 0 || e.Attempt == k.HoldAttempt) {
		fmt.Println("reached")
		select {}
	}
}

// process is a task under way in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	out *bufio.Reader
}

// spawn starts the task.
func spawn(t testing.TB, k task, env ...string) *process {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self)}
	p.cmd.Env = append(append(os.Environ(), env...), childVariable+"="+string(text))
	p.cmd.Stderr = t.Output()
	pipe, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(pipe)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // does nothing to one that has ended
	return p
}

// reached waits until the process stands at its boundary.
func (p *process) reached() {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "reached" {
		p.t.Fatalf("the boundary was not reached: %q, %v", line, err)
	}
}

// kill ends the process as a power cut would end it for the outside world.
func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil {
		p.t.Fatal("the process ended in good order instead of being killed")
	}
}

// killed kills the process and reports whether it was still at work.
func (p *process) killed() bool {
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	return p.cmd.Wait() != nil
}

// end waits for the outcome.
func (p *process) end() outcome {
	p.t.Helper()
	var out outcome
	text, err := io.ReadAll(p.out)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err := errors.Join(err, p.cmd.Wait()); err != nil {
		p.t.Fatalf("%v in %q", err, text)
	}
	return out
}
