package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/steps/build"
)

// desk is how one tool is declared, and what its receiver does. The zero value
// but for the class is a receiver that keeps what is declared.
type desk struct {
	class string // read, keyed, verify or once
	more  string // further lines of its table
	asks  bool   // it has a verify query

	refuses int    // the first requests are turned away
	after   string // and told when to come again, in seconds

	forgets bool // a key that was applied is applied again
	writes  bool // a read changes something
	counts  bool // an answer says how many requests there were
	// says is what it tells whoever asks about a key. Defaults to the truth.
	says func(applied bool) bool
}

// town is the receivers of one run, as a server of this process.
type town struct {
	desks  map[string]desk
	server *httptest.Server

	mu      sync.Mutex // guards what follows
	seen    []crashtest.Request
	effects []crashtest.Effect
	answers map[string]json.RawMessage // by tool and key
	when    map[string]crashtest.When  // by tool, of the next request
	held    chan struct{}
	refused int
}

// openTown starts receivers and writes the tools file that reaches them.
func openTown(dir string, desks map[string]desk) (*town, error) {
	w := &town{desks: desks, answers: map[string]json.RawMessage{}, when: map[string]crashtest.When{}}
	w.server = httptest.NewServer(http.HandlerFunc(w.serve))
	text := "pawl = 1\n"
	for _, id := range slices.Sorted(maps.Keys(desks)) {
		text += w.table(id)
	}
	return w, os.WriteFile(filepath.Join(dir, toolfile.Name), []byte(text), 0o644)
}

func (w *town) table(id string) string {
	d := w.desks[id]
	text := fmt.Sprintf("[tool.%q]\nkind = %q\neffect = %q\nmethod = %q\nurl = %q\nallow = [%q]\ntimeout = %q\n%s\n",
		id, "http", d.class, "POST", w.server.URL+"/"+id, "private", "1s", d.more)
	if d.asks {
		text += fmt.Sprintf("[tool.%q.verify]\nurl = %q\nsettle = %q\napplied = %q\nabsent = %q\nreceipt = %q\n",
			id, w.server.URL+"/"+id+"?key={key}", "1ms", "response.applied", "!response.applied", "/answer")
	}
	return text
}

func (w *town) serve(to http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	to.Header().Set("Content-Type", "application/json")
	id := strings.TrimPrefix(r.URL.Path, "/")
	if r.Method == http.MethodGet {
		_, _ = to.Write(w.ask(id, r.URL.Query().Get("key")))
		return
	}
	answer, held := w.take(id, r.Header.Get("Idempotency-Key"), string(body))
	switch {
	case held != nil:
		close(held)
		<-r.Context().Done()
	case answer == nil:
		if after := w.desks[id].after; after != "" {
			to.Header().Set("Retry-After", after)
		}
		to.WriteHeader(http.StatusTooManyRequests)
	default:
		_, _ = to.Write(answer)
	}
}

// ask answers the question what became of a key.
func (w *town) ask(id, key string) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, applied := w.answers[id+key]
	if !applied {
		answer = json.RawMessage(`{"of":"another"}`)
	}
	if says := w.desks[id].says; says != nil {
		applied = says(applied)
	}
	text, _ := json.Marshal(map[string]any{"applied": applied, "answer": answer}) // both are JSON
	return text
}

// take is what a request does, up to its answer: none if it is turned away.
func (w *town) take(id, key, body string) (answer json.RawMessage, held chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.desks[id]
	w.seen = append(w.seen, crashtest.Request{Tool: id, Key: key})
	n := w.requests(id)
	if n <= d.refuses {
		w.refused++
		return nil, nil
	}
	when := w.when[id]
	delete(w.when, id)
	if when != "" {
		held = w.held
	}
	if when == crashtest.Before {
		return nil, held
	}
	known, came := w.answers[id+key]
	if !came || key == "" || d.forgets || d.counts {
		known = json.RawMessage(`{"done":true}`)
		if d.counts {
			known = json.RawMessage(fmt.Sprintf(`{"request":%d}`, n))
		}
		w.answers[id+key] = known
	}
	if (d.class != "read" || d.writes) && (!came || key == "" || d.forgets || d.class == "once" || d.class == "verify") {
		w.effects = append(w.effects, crashtest.Effect{Tool: id, Body: body, Key: key})
	}
	return known, held
}

func (w *town) requests(id string) (n int) {
	for _, r := range w.seen {
		if r.Tool == id {
			n++
		}
	}
	return n
}

func (w *town) Hold(_ context.Context, tool string, when crashtest.When) (<-chan struct{}, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make(chan struct{})
	w.when[tool] = when
	return w.held, nil
}

func (w *town) Effects(context.Context) ([]crashtest.Effect, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.effects), nil
}

func (w *town) Requests(context.Context) ([]crashtest.Request, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen), nil
}

func (w *town) Close() error {
	w.server.CloseClientConnections()
	w.server.Close()
	return nil
}

// script is a module whose steps do what their input says.
var script = sync.OnceValues(func() (string, error) {
	module := filepath.Join(work, "script.wasm")
	if _, err := build.Module(context.Background(), &build.Options{Dir: "../testdata/script", Out: module}); err != nil {
		return "", err
	}
	return module, compileInChild(module)
})

// play is a workflow of up to four steps, told by what each does, and the world
// around it.
type play struct {
	steps  []string // a list of operations each, as JSON
	retry  string   // of every step
	desks  map[string]desk
	points []crashtest.Point
}

// towns are the receivers of all runs of a matrix.
type towns struct {
	mu  sync.Mutex // guards all
	all []*town
}

// clean are those of the run that nothing happened to, which comes first.
func (ws *towns) clean() *town {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.all[0]
}

// crash makes the matrix of a play.
func (p *play) crash(t *testing.T) (*crashtest.Report, *towns, error) {
	t.Helper()
	folder := t.TempDir()
	module, err := script()
	if err != nil {
		t.Fatal(err)
	}
	program, err := quick()
	if err != nil {
		t.Fatal(err)
	}
	input, err := p.write(folder, module)
	if err != nil {
		t.Fatal(err)
	}
	ws := new(towns)
	c := &crashtest.Config{Workflow: folder, Input: input, Points: p.points, Child: childBy(program)}
	if p.desks != nil {
		c.Receivers = func(_ context.Context, dir string) (crashtest.Receivers, error) {
			w, err := openTown(dir, p.desks)
			ws.mu.Lock()
			defer ws.mu.Unlock()
			ws.all = append(ws.all, w)
			return w, err
		}
	}
	report, err := crashtest.Run(t.Context(), c)
	return report, ws, err
}

// write writes the workflow's folder and returns the run's input.
func (p *play) write(folder, module string) (json.RawMessage, error) {
	names := []string{"one", "two", "three", "four"}
	tools := slices.Sorted(maps.Keys(p.desks))
	if p.desks == nil {
		tools = []string{"read", "kv.get", "kv.put"}
	} else if strings.Contains(strings.Join(p.steps, ""), "kv.") {
		tools = append(tools, "kv.get", "kv.put")
	}
	granted, err := json.Marshal(tools)
	if err != nil {
		return nil, err
	}
	manifest := "pawl = 1\n[workflow]\nname = \"play\"\nversion = \"1\"\n"
	input := map[string]json.RawMessage{}
	for i, text := range p.steps {
		manifest += fmt.Sprintf("[[step]]\nname = %q\nmodule = %q\ntools = %s\nwith = { do = %q }\n",
			names[i], "script.wasm", granted, "input."+names[i])
		if p.retry != "" {
			manifest += "retry = " + p.retry + "\n"
		}
		input[names[i]] = json.RawMessage(text)
	}
	text, err := json.Marshal(input)
	return text, errors.Join(err,
		os.WriteFile(filepath.Join(folder, "workflow.toml"), []byte(manifest), 0o644),
		copyFile(module, filepath.Join(folder, "script.wasm")))
}
