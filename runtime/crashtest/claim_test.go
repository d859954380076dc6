package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// claims is a receiver for a workflow of one call, with a character.
type claims struct {
	server *httptest.Server
	// again decides about a key that has come before: apply it once more, or
	// not.
	again func(applied bool) bool

	mu      sync.Mutex // guards what follows
	seen    []crashtest.Request
	effects []crashtest.Effect
	when    crashtest.When
	held    chan struct{}
}

// once applies a key once, which is what a receiver of keys should do.
func once(applied bool) bool { return !applied }

// startClaims starts a receiver and writes a tools file in which its tool has
// the class.
func startClaims(dir, class string, again func(bool) bool) (*claims, error) {
	c := &claims{again: again}
	c.server = httptest.NewServer(http.HandlerFunc(c.serve))
	text := fmt.Sprintf("pawl = 1\n[tool.%q]\nkind = %q\neffect = %q\nmethod = %q\nurl = %q\nallow = [%q]\ntimeout = %q\n",
		"tickets.claim", "http", class, "PUT", c.server.URL+"/{ticket}", "private", "2s")
	return c, os.WriteFile(filepath.Join(dir, toolfile.Name), []byte(text), 0o644)
}

func (c *claims) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	when, held := c.take(r.Header.Get("Idempotency-Key"), string(body))
	if when != "" {
		close(held)
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

// take is what a request does, up to its answer. when says that it gets none.
func (c *claims) take(key, body string) (when crashtest.When, held chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	when, held, c.when = c.when, c.held, ""
	came := slices.ContainsFunc(c.seen, func(r crashtest.Request) bool { return r.Key == key })
	applied := slices.ContainsFunc(c.effects, func(e crashtest.Effect) bool { return e.Key == key })
	c.seen = append(c.seen, crashtest.Request{Tool: "tickets.claim", Key: key})
	if when != crashtest.Before && (!came || c.again(applied)) {
		c.effects = append(c.effects, crashtest.Effect{Tool: "tickets.claim", Body: body + key, Key: key})
	}
	return when, held
}

func (c *claims) Hold(_ context.Context, _ string, when crashtest.When) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.when, c.held = when, make(chan struct{})
	return c.held, nil
}

func (c *claims) Effects(context.Context) ([]crashtest.Effect, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.effects), nil
}

func (c *claims) Requests(context.Context) ([]crashtest.Request, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen), nil
}

func (c *claims) Close() error {
	c.server.CloseClientConnections()
	c.server.Close()
	return nil
}

// claim is the folder of a workflow of one step with one call.
var claim = sync.OnceValues(func() (string, error) {
	from, err := refund()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(work, "claim")
	const manifest = `pawl = 1
[workflow]
name = "claim"
version = "1"
[[step]]
name = "validate"
module = "refund.wasm"
tools = ["tickets.claim"]
`
	return dir, errors.Join(
		os.MkdirAll(dir, 0o755),
		os.WriteFile(filepath.Join(dir, "workflow.toml"), []byte(manifest), 0o644),
		copyFile(filepath.Join(from, "refund.wasm"), filepath.Join(dir, "refund.wasm")),
	)
})

func claimConfig(t *testing.T) *crashtest.Config {
	t.Helper()
	folder, err := claim()
	if err != nil {
		t.Fatal(err)
	}
	return &crashtest.Config{Workflow: folder, Input: json.RawMessage(`{"id":"T1","status":"open"}`)}
}

// A harness that sees nothing proves nothing: these receivers lie.
func TestLiesAreSeen(t *testing.T) {
	long(t)
	t.Parallel()
	tests := []struct {
		name, class string
		again       func(applied bool) bool
		want        crashtest.Summary
		rows        []string // with a mismatch
	}{
		{
			name: "a receiver that forgets its keys", class: "keyed", again: func(bool) bool { return true },
			want: crashtest.Summary{Boundaries: 2, Duplicates: 1, Mismatches: 1},
			rows: []string{"H3 validate/0 tickets.claim"},
		},
		{
			name: "a receiver that confirms what it has not done", class: "keyed", again: func(bool) bool { return false },
			want: crashtest.Summary{Boundaries: 2, Lost: 1, Mismatches: 1},
			rows: []string{"H2 validate/0 tickets.claim"},
		},
		{name: "what nobody may repeat waits for a person", class: "once", again: once, want: crashtest.Summary{Boundaries: 2, Waiting: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := claimConfig(t)
			c.Points = []crashtest.Point{crashtest.H2, crashtest.H3}
			c.Receivers = func(_ context.Context, dir string) (crashtest.Receivers, error) {
				return startClaims(dir, test.class, test.again)
			}
			report, err := crashtest.Run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Summary(); got != test.want {
				t.Errorf("summary %+v, want %+v", got, test.want)
			}
			var rows []string
			for _, row := range report.Rows {
				if !row.OK() {
					rows = append(rows, row.Name)
					t.Log(row.Name, row.Mismatches)
				}
			}
			if diff := cmp.Diff(test.rows, rows); diff != "" {
				t.Errorf("rows with a mismatch:\n%s", diff)
			}
		})
	}
}

func TestWithoutReceiversTheRowsThatNeedThemAreLeftOut(t *testing.T) {
	t.Parallel()
	c := claimConfig(t)
	c.Points = []crashtest.Point{crashtest.H1, crashtest.H2, crashtest.H3, crashtest.H6}
	report, err := crashtest.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := report.Summary(), (crashtest.Summary{Boundaries: 2}); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	for _, row := range report.Rows {
		if row.Point == crashtest.H2 || row.Point == crashtest.H3 {
			t.Errorf("row %s", row.Name)
		}
	}
	if !strings.Contains(report.LeftOut, "H2, H3") {
		t.Errorf("left out: %q", report.LeftOut)
	}
}

func TestEverythingStartedEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := claimConfig(t)
	c.Dir = t.TempDir()
	var mu sync.Mutex
	var children []*exec.Cmd
	c.Child = func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) {
		cmd := childOf(os.Args[0], dir)
		mu.Lock()
		defer mu.Unlock()
		children = append(children, cmd)
		return cmd, nil
	}
	c.Progress = func(*crashtest.Row) { cancel() }
	report, err := crashtest.Run(ctx, c)
	if !errors.Is(err, context.Canceled) || report != nil {
		t.Errorf("report %v, error %v", report, err)
	}
	for _, cmd := range children {
		if cmd.Process != nil && cmd.ProcessState == nil {
			t.Errorf("child %d was not waited for", cmd.Process.Pid)
		}
	}
}

func TestErrorsSayWhy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(c *crashtest.Config)
		want   string
	}{
		{"no workflow", func(c *crashtest.Config) { c.Workflow = "" }, "names no directory"},
		{"no input", func(c *crashtest.Config) { c.Input = nil }, "Input is not JSON"},
		{"a child that does not work", func(c *crashtest.Config) {
			c.Child = func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) {
				return childOf(os.Args[0], dir, brokenVariable+"=1"), nil
			}
		}, "nothing works here"},
		{"a child that cannot be started", func(c *crashtest.Config) {
			c.Child = func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) {
				return exec.Command(filepath.Join(dir, "nothing")), nil
			}
		}, "cannot be started"},
		{"a child that does not come to an end", func(c *crashtest.Config) { c.Timeout = time.Nanosecond }, "no end within 1ns"},
		{"a run that fails by itself", func(c *crashtest.Config) {
			c.Input = json.RawMessage(`{"id":"T1","status":"closed"}`)
		}, "ticket T1 is closed"},
		{"receivers that do not start", func(c *crashtest.Config) {
			c.Receivers = func(context.Context, string) (crashtest.Receivers, error) { return nil, errors.New("no port") }
		}, "no port"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := claimConfig(t)
			test.change(c)
			report, err := crashtest.Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("report %v, error %v", report, err)
			}
		})
	}
}
