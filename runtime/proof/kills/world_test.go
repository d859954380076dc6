package kills_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// wanted is how many runs are under way at any time.
const wanted = 50

func planOf(id string) string {
	plan, _, _ := strings.Cut(id, ".")
	return plan
}

// world is one store through many processes, and receivers that outlive them.
type world struct {
	t       *testing.T
	dir     string
	outside *outside
	lives   int
	open    map[string]bool // runs that were about to be begun and are not known to rest
	begun   map[string]bool // runs whose start was told
	last    map[string]seen
	ended   map[int]bool // lives that were killed
	records []told
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, dir: t.TempDir(), outside: startOutside(t), open: map[string]bool{}, begun: map[string]bool{},
		last: map[string]seen{}, ended: map[int]bool{},
	}
	if err := os.WriteFile(w.path("tools.toml"), []byte(toolsText(w.outside.addr)), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }
func (w *world) store() string           { return w.path("store") }

// process is a life under way.
type process struct {
	w      *world
	number int // of the life
	cmd    *exec.Cmd
	opened chan struct{} // closed when its store is open, or never will be
	read   chan struct{} // closed when it has said its last
	said   []told        // after read
	begin  told          // what it said first; after opened
}

// spawn begins a life. edit may change what it does.
func (w *world) spawn(edit func(*life)) *process {
	w.t.Helper()
	w.lives++
	w.outside.set("life", w.lives)
	l := life{Store: w.store(), Tools: w.path("tools.toml"), Number: w.lives, Want: wanted, Runs: sorted(w.open)}
	if edit != nil {
		edit(&l)
	}
	text, err := json.Marshal(l)
	if err != nil {
		w.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	p := &process{w: w, number: w.lives, cmd: exec.Command(self), opened: make(chan struct{}), read: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), lifeVariable+"="+string(text), numberVariable+"="+nameOfLife(w.lives))
	p.cmd.Stderr = w.t.Output()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go p.listen(out)
	return p
}

// listen reads what the process says. A last line may be cut off.
func (p *process) listen(out io.Reader) {
	defer close(p.read)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var t told
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			break
		}
		if len(p.said) == 0 {
			p.begin = t
			close(p.opened)
		}
		p.said = append(p.said, t)
	}
	if len(p.said) == 0 {
		close(p.opened)
	}
}

// nameOfLife is what a life is called by its requests: those of a killed process
// may come in when the next is at work.
func nameOfLife(n int) string { return fmt.Sprintf("life-%06d", n) }

// lifeNamed is 0 for what is no name of a life.
func lifeNamed(name string) (n int) {
	_, _ = fmt.Sscanf(name, "life-%d", &n) // 0 then
	return n
}

// kill ends the process wherever it is, and takes down what it had said.
func (p *process) kill() {
	p.w.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	p.w.outside.set("life", p.w.lives+1)      // what is answered from now on is answered to nobody
	<-p.read
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		p.w.t.Errorf("the process was to be killed, but ended with %v", err)
	}
	p.w.ended[p.number] = true
	p.w.take(p.number, p.said)
}

// wait waits until the process has nothing left to do.
func (p *process) wait() error {
	timer := time.AfterFunc(2*time.Minute, func() { _ = p.cmd.Process.Signal(syscall.SIGQUIT) })
	defer timer.Stop()
	<-p.read
	return p.cmd.Wait()
}

// end waits and takes down what the process had said.
func (p *process) end() {
	p.w.t.Helper()
	if err := p.wait(); err != nil {
		p.w.t.Errorf("the process ended with %v", err)
	}
	p.w.take(p.number, p.said)
}

// take takes down what a life said, and compares it with what earlier ones said.
func (w *world) take(life int, said []told) {
	w.t.Helper()
	for _, t := range said {
		w.records = append(w.records, t)
		switch t.What {
		case "starting":
			w.open[t.Run] = true
		case "started":
			w.begun[t.Run] = true
		case "seen", "rest":
			w.saw(life, t)
		case "open":
		default:
			w.t.Errorf("life %d: %s %s: %s", life, t.What, t.Run, t.Text)
		}
	}
}

// saw compares what is told of a run with what was told before.
func (w *world) saw(life int, t told) {
	w.t.Helper()
	was, is := w.last[t.Run], t.Seen
	if is.Seq < was.Seq || is.Attempts < was.Attempts || is.Calls < was.Calls || is.Recoveries < was.Recoveries ||
		is.Work < was.Work || is.Done < was.Done || is.Units < was.Units || was.State == pawl.StateCompleted && is != was {
		w.t.Errorf("life %d: %s went back: %+v, was %+v", life, t.Run, is, was)
	}
	w.last[t.Run], w.begun[t.Run] = is, true
	if t.What == "rest" && is.State == pawl.StateCompleted {
		delete(w.open, t.Run)
	}
}

// drain has everything end without faults and returns all documents by external
// id.
func (w *world) drain() map[string]*pawl.Checkpoint {
	w.t.Helper()
	w.outside.set("quiet", 1)
	name := w.path("documents.jsonl")
	w.spawn(func(l *life) { l.Want, l.Urge, l.Documents, l.Known = 0, true, name, w.known() }).end()
	return readDocuments(w.t, name)
}

// known is a file with the runs whose start was told.
func (w *world) known() string {
	w.t.Helper()
	name := w.path("known")
	if err := os.WriteFile(name, []byte(strings.Join(sorted(w.begun), "\n")), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

func readDocuments(t *testing.T, name string) map[string]*pawl.Checkpoint {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]*pawl.Checkpoint{}
	for in := json.NewDecoder(f); ; {
		c := new(pawl.Checkpoint)
		err := in.Decode(c)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all[c.ExternalID] = c
	}
}

func sorted(set map[string]bool) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
