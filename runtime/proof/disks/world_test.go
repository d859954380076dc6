package disks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/proof"
)

// world is a store that lives on, and a receiver.
type world struct {
	t        *testing.T
	receiver *receiver
	tools    string
	store    string
}

func newWorld(t *testing.T, store string) *world {
	t.Helper()
	r := startReceiver(t)
	return &world{t: t, receiver: r, tools: toolsFile(t, r), store: store}
}

func runsOf(prefix string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%03d", prefix, i))
	}
	return ids
}

// process is a life under way.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	stderr bytes.Buffer
	out    *json.Decoder
	rest   bool // all runs rest
}

func (w *world) spawn(reserve int64, runs []string) *process {
	w.t.Helper()
	return w.spawnUnder(nil, reserve, runs)
}

// spawnUnder starts a life as the last argument of another command.
func (w *world) spawnUnder(command []string, reserve int64, runs []string) *process {
	w.t.Helper()
	text, err := json.Marshal(life{Store: w.store, Tools: w.tools, Reserve: reserve, Runs: runs})
	if err != nil {
		w.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	command = append(command, self)
	p := &process{t: w.t, cmd: exec.Command(command[0], command[1:]...)}
	p.cmd.Env = append(os.Environ(), lifeVariable+"="+string(text))
	p.cmd.Stderr = &p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // the test failed
			_ = p.cmd.Wait()
		}
	})
	return p
}

// next waits for a line of what; "failed" is an error of the test.
func (p *process) next(what string) told {
	p.t.Helper()
	for {
		var t told
		if err := p.out.Decode(&t); err != nil {
			p.t.Fatalf("the process said nothing more: %v\n%s", err, &p.stderr)
		}
		switch t.What {
		case "failed":
			p.t.Error(t.Text)
		case "rest":
			p.rest = true
		}
		if t.What == what {
			return t
		}
	}
}

func (p *process) ask(question string) told {
	p.t.Helper()
	if _, err := io.WriteString(p.in, question+"\n"); err != nil {
		p.t.Fatal(err)
	}
	return p.next(question)
}

// end waits until all runs rest and ends the process.
func (p *process) end() {
	p.t.Helper()
	if !p.rest {
		p.next("rest")
	}
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out.Buffered())
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the process ended with %v\n%s", err, &p.stderr)
	}
}

// judge expects that everything the receiver was ever asked for is recorded in
// what is on the disk now, which a copy of it tells.
func (w *world) judge(when string, runs []string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(w.store)); err != nil {
		w.t.Fatal(err)
	}
	recorded := map[string]int{}
	w.documents(dir, runs, func(id string, c *pawl.Checkpoint, err error) {
		switch {
		case err == nil:
			addKeys(recorded, c)
		case !errors.Is(err, pawl.ErrNotFound): // it may not have been begun
			w.t.Errorf("%s: %s: %v", when, id, err)
		}
	})
	for key := range w.receiver.keysNow() {
		if recorded[key] == 0 {
			w.t.Errorf("%s: sent with the key %s, which no run has recorded", when, key)
		}
	}
}

// documents tells f how each run stands in the store in dir.
func (w *world) documents(dir string, runs []string, f func(id string, c *pawl.Checkpoint, err error)) {
	w.t.Helper()
	tools, err := loadTools(w.tools)
	if err != nil {
		w.t.Fatal(err)
	}
	store, err := kv.Open(dir, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	engine, err := pawl.Open(context.Background(), store, &pawl.Options{Tools: tools, CacheDir: proof.CacheDir(), NoRecovery: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer engine.Close()
	for _, id := range runs {
		r, err := engine.Find(id)
		var c *pawl.Checkpoint
		if err == nil {
			c, err = r.Checkpoint()
		}
		f(id, c, err)
	}
}

func addKeys(keys map[string]int, c *pawl.Checkpoint) {
	for _, step := range c.Steps {
		for _, call := range step.Calls {
			keys[call.Key]++
		}
	}
}

// once expects that everything has happened, each effect once, and is recorded.
func (w *world) once(runs []string) {
	w.t.Helper()
	effects := w.receiver.effects()
	if want := effectsOfRun * len(runs); len(effects) != want {
		w.t.Errorf("%d effects of %d runs, want %d", len(effects), len(runs), want)
	}
	recorded := map[string]int{}
	w.documents(w.store, runs, func(id string, c *pawl.Checkpoint, err error) {
		own := map[string]int{}
		if err != nil || c.State != pawl.StateCompleted {
			w.t.Errorf("%s: %+v, %v", id, c, err)
			return
		}
		addKeys(own, c)
		if len(own) != effectsOfRun {
			w.t.Errorf("%s completed with %d calls", id, len(own))
		}
		addKeys(recorded, c)
	})
	for _, key := range effects {
		if recorded[key] != 1 {
			w.t.Errorf("the effect %s is recorded %d times", key, recorded[key])
		}
	}
}
