package guests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	wt "github.com/pawl-dev/pawl/runtime/internal/wasmtest"
	"github.com/pawl-dev/pawl/runtime/proof"
)

const (
	ordinary      = 20 // runs
	ordinaryCalls = 3  // of each
	endless       = 4  // runs that compute all the while
	endlessWork   = 400_000_000
)

// life is what one process does. The first begins all runs; later ones find
// what is there.
type life struct {
	Store, Ledger, Report string
	First                 bool
}

// report is what a life says in the end.
type report struct {
	Documents map[string]*pawl.Checkpoint // by external id
	Logs      map[string][]pawl.LogLine   // of the misdeeds
	Beside    map[string]pawl.RunState    // of the endless runs, when the ordinary ones had completed
	Peak      int64                       // memory in bytes
	Errors    []string                    // lines that the engine logged as errors
	Entered   map[string]int              // by run: how often a guest was entered
	Resumed   map[string]string           // what a resume of a failed run said
}

// living is a life under way.
type living struct {
	life
	engine *pawl.Engine
	ledger *os.File

	mu  sync.Mutex // guards out
	out report
}

// Handle and the rest implement slog.Handler: errors are kept.
func (v *living) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }
func (v *living) WithAttrs([]slog.Attr) slog.Handler           { return v }
func (v *living) WithGroup(string) slog.Handler                { return v }
func (v *living) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Errors = append(v.out.Errors, text)
	return nil
}

func (l life) live() (err error) {
	v := &living{life: l, out: report{
		Documents: map[string]*pawl.Checkpoint{}, Logs: map[string][]pawl.LogLine{}, Beside: map[string]pawl.RunState{},
		Entered: map[string]int{}, Resumed: map[string]string{},
	}}
	if v.ledger, err = os.OpenFile(l.Ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	tools, err := host.NewRegistry(host.Func("tool", v.receive, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}))
	if err != nil {
		return err
	}
	store, err := kv.Open(l.Store, nil)
	if err != nil {
		return err
	}
	v.engine, err = pawl.Open(context.Background(), store, &pawl.Options{
		Tools: tools, CacheDir: proof.CacheDir(), Logger: slog.New(v), Observer: v.observe,
	})
	if err != nil {
		return err
	}
	if err = v.work(); err == nil {
		err = v.look()
	}
	return errors.Join(err, v.engine.Check(), v.engine.Close(), store.Close(), v.tell())
}

// receive is the receiver: what it writes down outlives the process.
func (v *living) receive(_ context.Context, c *host.Call, _ any) (any, error) {
	_, err := fmt.Fprintf(v.ledger, "%s %s\n", c.Run, c.Key)
	return "done", err
}

func (v *living) observe(e pawl.Event) {
	if e.Kind == pawl.Begun {
		v.mu.Lock()
		v.out.Entered[e.Run]++
		v.mu.Unlock()
	}
}

func (v *living) work() error {
	if !v.First {
		return nil
	}
	ctx := context.Background()
	start := func(w *pawl.Workflow, id string) (*pawl.Run, error) {
		return pawl.Start(ctx, w, id, map[string]string{"run": id}, nil)
	}
	deployed := map[string]*pawl.Workflow{}
	deploy := func(name, limits string, wasm []byte) (err error) {
		deployed[name], err = v.engine.Deploy(ctx, folder(name, limits, wasm))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	if err := errors.Join(
		deploy("endless", fmt.Sprintf("work = %d", endlessWork), guest(forever(""))),
		deploy("ordinary", "", guest(strings.Repeat(wt.GoodCall, ordinaryCalls)+wt.Done)),
	); err != nil {
		return err
	}
	for _, m := range misdeeds() {
		if err := deploy(m.name, m.limits, m.wasm); err != nil {
			return err
		}
	}
	var loops, plain []*pawl.Run
	for i := range endless {
		r, err := start(deployed["endless"], fmt.Sprint("endless-", i))
		if err != nil {
			return err
		}
		loops = append(loops, r)
	}
	rows := misdeeds()
	for i := range max(ordinary, len(rows)) {
		if i < len(rows) {
			if _, err := start(deployed[rows[i].name], "bad-"+rows[i].name); err != nil {
				return err
			}
		}
		if i < ordinary {
			r, err := start(deployed["ordinary"], fmt.Sprint("ordinary-", i))
			if err != nil {
				return err
			}
			plain = append(plain, r)
		}
	}
	for _, r := range plain {
		if _, err := r.Wait(ctx, time.Hour); err != nil {
			return err
		}
	}
	for _, r := range loops {
		c, err := r.Checkpoint()
		if err != nil {
			return err
		}
		v.out.Beside[c.ExternalID] = c.State
	}
	return nil
}

// look waits until every run rests, and takes down how it stands.
func (v *living) look() error {
	for after := ""; ; {
		page, err := v.engine.List(&pawl.Query{After: after, Limit: pawl.MaxPage})
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			r, err := v.engine.Find(item.Run)
			if err != nil {
				return err
			}
			c, err := r.Wait(context.Background(), time.Hour)
			if err != nil {
				return err
			}
			if c.State != pawl.StateCompleted && !v.First {
				v.out.Resumed[c.ExternalID] = pawl.CodeOf(r.Resume())
				if c, err = r.Wait(context.Background(), time.Hour); err != nil {
					return err
				}
			}
			v.out.Documents[c.ExternalID] = c
			if strings.HasPrefix(c.ExternalID, "bad-") {
				if v.out.Logs[c.ExternalID], err = r.Logs(); err != nil {
					return err
				}
			}
		}
		if after = page.Next; after == "" {
			return nil
		}
	}
}

func (v *living) tell() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Peak = peak()
	text, err := json.Marshal(v.out)
	if err != nil {
		return err
	}
	return os.WriteFile(v.Report, text, 0o600)
}

// peak is the most memory that the process ever had, in bytes; 0 where the
// system does not say.
func peak() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var n int64
	_, _ = fmt.Sscan(rest, &n)
	return n << 10
}

// folder is a workflow of one step.
func folder(name, limits string, wasm []byte) fstest.MapFS {
	return fstest.MapFS{
		"workflow.toml": {Data: fmt.Appendf(nil, `pawl = 1
[workflow]
name = %q
version = "1"
input = { type = "object" }
[[step]]
name = "one"
module = "guest.wasm"
tools = ["tool"]
limits = { %s }
`, strings.ReplaceAll(strings.ToLower(name), "-", "_"), limits)},
		"guest.wasm": {Data: wasm},
	}
}
