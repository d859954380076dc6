package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// poisonVariable holds the directory of a program that one of its runs kills.
const poisonVariable = "PAWL_RUNTIME_TEST_POISON"

// good are the runs beside the poisoned one: some are inside a Go tool when
// the program dies, some inside one of the kind that Pawl trusts.
const good, outside = 50, 5

// poisonMain opens the store, starts the runs, in each life again, and waits
// until all rest. It is killed by the poisoned run as often as that is entered.
func poisonMain(dir string) (err error) {
	store, err := kv.Open(filepath.Join(dir, "store"), nil)
	if err != nil {
		return err
	}
	slow := func(ctx context.Context, _ *host.Call, _ any) (any, error) {
		time.Sleep(100 * time.Millisecond)
		return nil, ctx.Err()
	}
	kill := func(context.Context, *host.Call, any) (any, error) {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	tools, err := host.NewRegistry(
		host.Func("keyed", slow, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}),
		host.Func("once", kill, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}),
		waitingRoom{})
	if err != nil {
		return err
	}
	engine, err := pawl.Open(context.Background(), store, &pawl.Options{Tools: tools, CacheDir: cacheDir()})
	if err != nil {
		return err
	}
	if err := startAll(engine, dir); err != nil {
		return err
	}
	page, err := engine.List(&pawl.Query{Limit: 500})
	if err != nil {
		return err
	}
	for _, r := range page.Items {
		run, err := engine.Find(r.Run)
		if err != nil {
			return err
		}
		c, err := run.Wait(context.Background(), time.Hour)
		if err != nil {
			return err
		}
		fmt.Printf("%s %s %d\n", c.ExternalID, c.State, c.Budgets.Recoveries.Used)
	}
	if err := engine.Close(); err != nil {
		return err
	}
	return store.Close()
}

// startAll starts the good runs, then the poisoned one.
func startAll(engine *pawl.Engine, dir string) error {
	w, err := engine.Deploy(context.Background(), os.DirFS(filepath.Join(dir, "workflow")))
	if err != nil {
		return err
	}
	for i := range good + outside + 1 {
		id, input := fmt.Sprintf("good-%d", i), `{"one":[{"call":"keyed"},{"call":"keyed"}]}`
		switch {
		case i == good+outside:
			id, input = "poison", `{"one":[{"call":"once"}]}`
		case i >= good:
			id, input = fmt.Sprintf("outside-%d", i), `{"one":[{"call":"flaky"}]}`
		}
		if _, err := pawl.Start(context.Background(), w, id, json.RawMessage(input), nil); err != nil {
			return err
		}
	}
	return nil
}

// waitingRoom is a tool of Pawl's own kind that answers late: after the
// programs that are killed have lived.
type waitingRoom struct{}

func (waitingRoom) ID() string { return "flaky" }

func (waitingRoom) Contract() host.Contract { return host.Contract{Effect: host.Keyed, Kind: "http"} }

func (waitingRoom) Try(ctx context.Context, c *host.Call) host.Answer {
	c.Sent()
	select {
	case <-time.After(6 * time.Second):
	case <-ctx.Done():
	}
	return host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: host.Response{Type: abi.TypeJSON, Body: []byte("{}")}}
}

// A run that kills its program every time it is entered, beside fifty good ones
// that have no time to get further before it does, under a supervisor that
// starts the program again: the poisoned one is quarantined, alone, and all
// others complete.
//
// Seen red without the slow start, with repeated starts that do not wait for their
// run's turn, with groups that are not waited for, with
// recoveries of runs in Pawl's own tool that count in a row, and without the
// record of engines that are open.
func TestPoisonedRunIsQuarantinedAlone(t *testing.T) {
	long(t)
	t.Parallel()
	dir := t.TempDir()
	for name, f := range folder(t, "", `tools = ["keyed", "once", "flaky"]`) {
		name = filepath.Join(dir, "workflow", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out string
	deaths := 0
	for ; ; deaths++ {
		if deaths > 10 {
			t.Fatal("the supervisor has restarted the program 10 times")
		}
		cmd := exec.Command(must(os.Executable()))
		cmd.Env = append(os.Environ(), poisonVariable+"="+dir)
		cmd.Stderr = t.Output()
		text, err := cmd.Output()
		if err == nil {
			out = string(text)
			break
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("%v in %s", err, text)
		}
	}
	if n := strings.Count(out, " completed "); n != good+outside || !strings.Contains(out, "poison needs_decision 5\n") {
		t.Errorf("%d runs completed of %d:\n%s", n, good+outside, out)
	}
	if deaths != 6 { // the start, and as many recoveries as the run has
		t.Errorf("the program died %d times", deaths)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
