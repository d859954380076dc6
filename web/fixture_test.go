package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

// fixture is a real engine on a real store, with the workflow of testdata/guest
// and receivers that do as they are told.
type fixture struct {
	t      testing.TB
	dir    string
	opts   pawl.Options
	store  kv.Store
	engine *pawl.Engine
	world  *world
}

// setup opens one; options change those of the engine.
func setup(t testing.TB, options ...func(*pawl.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), world: &world{told: map[string]string{}, sent: map[string]int{}, free: make(chan struct{})}}
	f.opts.CacheDir, f.opts.Grace = cacheDir(), 100*time.Millisecond
	for _, o := range options {
		o(&f.opts)
	}
	f.open(nil)
	f.deploy(guest(t))
	t.Cleanup(f.close)
	return f
}

// cacheDir is shared by all test processes of a user, so that a module is
// compiled once.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "pawl-test")
}

// guest is the folder of testdata/guest with its module built.
func guest(t testing.TB) fstest.MapFS {
	t.Helper()
	files, err := built()
	if err != nil {
		t.Fatal(err)
	}
	copied := fstest.MapFS{}
	for name, file := range files {
		copied[name] = &fstest.MapFile{Data: append([]byte(nil), file.Data...)}
	}
	return copied
}

var built = sync.OnceValues(func() (fstest.MapFS, error) {
	files := fstest.MapFS{}
	out := filepath.Join(work, "guest.wasm")
	if _, err := build.Module(context.Background(), &build.Options{Dir: "testdata/guest", Out: out}); err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	files["guest.wasm"] = &fstest.MapFile{Data: wasm}
	for _, name := range []string{"workflow.toml", "schema/order.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/guest", name))
		if err != nil {
			return nil, err
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	return files, nil
})

// open opens store and engine; change, if there is one, changes the tools'
// contracts, by which open runs become incompatible.
func (f *fixture) open(change func(tool string, c *host.Contract)) {
	f.t.Helper()
	tools, err := f.world.tools(change)
	if err != nil {
		f.t.Fatal(err)
	}
	f.opts.Tools = tools
	if f.store, err = kv.Open(f.dir, nil); err != nil {
		f.t.Fatal(err)
	}
	if f.engine, err = pawl.Open(f.t.Context(), f.store, &f.opts); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) close() {
	f.t.Helper()
	f.world.release()
	if err := errors.Join(f.engine.Close(), f.store.Close()); err != nil {
		f.t.Error(err)
	}
}

// reopen ends the engine in good order and opens another.
func (f *fixture) reopen(change func(tool string, c *host.Contract)) {
	f.t.Helper()
	if err := errors.Join(f.engine.Close(), f.store.Close()); err != nil {
		f.t.Fatal(err)
	}
	f.open(change)
}

func (f *fixture) deploy(folder fs.FS) *pawl.Workflow {
	f.t.Helper()
	w, err := f.engine.Deploy(f.t.Context(), folder)
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

// start begins a refund of the order; more is the rest of its input, such as
// `"say":"x"`, or empty.
func (f *fixture) start(id, order, more string) *pawl.Run {
	f.t.Helper()
	w, err := f.engine.Workflow("refund")
	if err != nil {
		f.t.Fatal(err)
	}
	if more != "" {
		more = "," + more
	}
	input := fmt.Sprintf(`{"order":%q,"amount":1200,"queue":"normal"%s}`, order, more)
	r, err := pawl.Start(f.t.Context(), w, id, json.RawMessage(input), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// rest waits until the run rests; a timer due in an hour is a rest.
func (f *fixture) rest(r *pawl.Run) *pawl.Checkpoint {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	c, err := r.Wait(ctx, time.Minute)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// inState makes a run in the state, whose external id is the state's name.
// Interrupted and incompatible ones need the engine to be opened anew, which is
// the caller's.
func (f *fixture) inState(state pawl.RunState) *pawl.Run {
	f.t.Helper()
	id, order := string(state), fmt.Sprintf("W%d", 1000+len(state))
	switch state {
	case pawl.StateRunning:
		f.world.tell("llm.complete", order, "hangs")
		r := f.start(id, order, "")
		f.world.await(f.t, "llm.complete", order)
		return r
	case pawl.StateWaiting:
		f.world.tell("llm.complete", order, "down")
	case pawl.StateNeedsDecision:
		f.world.tell("mail.send", order, "lost")
	case pawl.StateFailed:
		r := f.start(id, order, `"fail":"the customer is not known"`)
		f.rest(r)
		return r
	}
	r := f.start(id, order, "")
	f.rest(r)
	return r
}

// orphaned makes a run that paid a voucher before the refund worked.
func (f *fixture) orphaned(id, order string) *pawl.Run {
	f.t.Helper()
	f.world.tell("pay.refund", order, "down once")
	r := f.start(id, order, "")
	f.rest(r)
	return r
}

// world are the receivers. What reaches them is counted by tool and order.
type world struct {
	mu   sync.Mutex // guards told, sent and free
	told map[string]string
	sent map[string]int
	free chan struct{} // closed to let go what hangs
}

// tell says what a tool does with an order from now on: "ok", "down" (nothing
// was sent), "down once", "rejected", "lost" (the outcome is not known), "hangs"
// until released, or "says ..." to answer with a text.
func (w *world) tell(tool, order, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[tool+" "+order] = what
}

// count is how often the tool was called for the order.
func (w *world) count(tool, order string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[tool+" "+order]
}

// await waits until the tool has been called for the order.
func (w *world) await(t testing.TB, tool, order string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); w.count(tool, order) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s was not called for %s", tool, order)
		}
	}
}

// release lets go what hangs, now and later.
func (w *world) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.free:
	default:
		close(w.free)
	}
}

type asked struct {
	Order string `json:"order"`
}

type answered struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
}

func (w *world) tools(change func(string, *host.Contract)) (*host.Registry, error) {
	var tools []host.Tool
	for name, contract := range map[string]host.Contract{
		"tickets.claim": {Effect: host.Keyed},
		"orders.get":    {Effect: host.Read},
		"orders.hold":   {Effect: host.Keyed, Compensation: &host.Compensation{Tool: "orders.release"}},
		"llm.complete":  {Effect: host.Read, Units: []string{"tokens"}},
		"pay.refund":    {Effect: host.Keyed},
		"pay.voucher":   {Effect: host.Keyed},
		"mail.send":     {Effect: host.Once, Help: "Search the outbox for the key {key}."},
	} {
		if change != nil {
			change(name, &contract)
		}
		tools = append(tools, host.Func(name, w.answer, &host.FuncOptions{
			Contract: contract,
			Units:    func(any) map[string]int64 { return map[string]int64{"tokens": 212} },
		}))
	}
	return host.NewRegistry(tools...)
}

func (w *world) answer(ctx context.Context, c *host.Call, req asked) (answered, error) {
	place := c.Tool + " " + req.Order
	w.mu.Lock()
	w.sent[place]++
	n, what, free := w.sent[place], w.told[place], w.free
	w.mu.Unlock()
	done := answered{ID: fmt.Sprintf("%s-%d", c.Tool, n)}
	switch {
	case what == "down" || what == "down once" && n == 1:
		return done, host.NotApplied(errors.New("connection refused"))
	case what == "rejected":
		return done, host.Rejected(errors.New("not this one"))
	case what == "lost":
		return done, errors.New("the connection broke")
	case what == "hangs":
		select {
		case <-free:
		case <-ctx.Done():
			return done, host.NotApplied(ctx.Err())
		}
	case len(what) > 5 && what[:5] == "says ":
		done.Text = what[5:]
	}
	return done, nil
}
