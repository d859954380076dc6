package runtime_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// A start that is refused leaves nothing at all in the store.
//
// Seen red with the input not checked, with the check after the store, with
// the external id not checked, and with a missing tool let through.
func TestRefusedStartStoresNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", ""))
	missing := b.deploy(folder(t, "title = \"other\"", `tools = ["read"]`))
	large := strings.Repeat("large ", 2000)
	for name, row := range map[string]struct {
		w         *pawl.Workflow
		id, input string
		want      error
	}{
		"an input that does not fit":         {w, "r1", `["` + large + `"]`, pawl.ErrInvalidInput},
		"an input that is no JSON":           {w, "r1", `{"one":`, pawl.ErrInvalidInput},
		"an input with a name that is twice": {w, "r1", `{"one":[],"one":[],"x":"` + large + `"}`, pawl.ErrInvalidInput},
		"a number that nothing can hold":     {w, "r1", `{"one":[],"x":1e999}`, pawl.ErrInvalidInput},
		"an id with a slash":                 {w, "a/b", `{"one":[]}`, pawl.ErrInvalidInput},
		"an id with a space":                 {w, "a b", `{"one":[]}`, pawl.ErrInvalidInput},
		"an id that is too long":             {w, strings.Repeat("x", 129), `{"one":[]}`, pawl.ErrInvalidInput},
		"a tool that is missing":             {missing, "r1", `{"one":[],"x":"` + large + `"}`, pawl.ErrIncompatible},
	} {
		before := keysOf(t, b.store)
		_, err := pawl.Start(t.Context(), row.w, row.id, raw(row.input), nil)
		if !errors.Is(err, row.want) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
		if err := b.store.Commit(new(kv.Batch)).Wait(t.Context()); err != nil { // what lingers is written too
			t.Fatal(err)
		}
		if after := keysOf(t, b.store); !maps.Equal(before, after) {
			t.Errorf("%s: %d keys, were %d", name, len(after), len(before))
		}
	}
	if r := b.start(w, strings.Repeat("x", 128), `{"one":[]}`); b.rest(r).State != pawl.StateCompleted {
		t.Error("the longest id")
	}
}

// Starts in parallel with an input that is not kept in its record are one run.
func TestParallelStartsWithALargeInput(t *testing.T) {
	t.Parallel()
	keyed, _, tools := keyedAndRead()
	b := setup(t, tools...)
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	input := `{"one":[{"call":"keyed"}],"x":"` + strings.Repeat("large ", 100_000) + `"}`
	var mu sync.Mutex
	ids := map[string]bool{}
	var starts sync.WaitGroup
	for range 5 {
		starts.Go(func() {
			r := b.start(w, "r1", input)
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID()] = true
		})
	}
	starts.Wait()
	c := b.rest(b.find("r1"))
	if c.State != pawl.StateCompleted || len(ids) != 1 || keyed.sent.Load() != 1 || len(c.Input) != len(input) {
		t.Errorf("state %s, runs %v, %d effects, an input of %d bytes", c.State, ids, keyed.sent.Load(), len(c.Input))
	}
	if n := len(all(t, b.engine, pawl.Query{})); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// A start of a run that is there returns it however it stands, and executes
// nothing that a resume would not.
//
// Seen red with a run that cannot go on as an error.
func TestStartOfARunThatRests(t *testing.T) {
	t.Parallel()
	var once, read counter
	b := setup(t,
		once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, errors.New("lost") }),
		read.tool("read", host.Contract{Effect: host.Read}, nil))
	w := b.deploy(folder(t, "[budget]\ncalls = 1", `tools = ["once", "read"]`))
	for id, row := range map[string]struct {
		input string
		state pawl.RunState
	}{
		"failed":  {`{"one":[{"fail":"wrong"}]}`, pawl.StateFailed},
		"unknown": {`{"one":[{"call":"once"}]}`, pawl.StateNeedsDecision},
		"spent":   {`{"one":[{"call":"read"},{"call":"read","request":{"n":2}}]}`, pawl.StateNeedsDecision},
	} {
		first := b.rest(b.start(w, id, row.input))
		sent := once.sent.Load() + read.sent.Load()
		again := b.rest(b.start(w, id, row.input))
		if first.State != row.state || again.State != row.state || again.Run != first.Run || once.sent.Load()+read.sent.Load() != sent {
			t.Errorf("%s: %s, then %s", id, first.State, again.State)
		}
	}
}

// Of all who start the same run one began it, and is told so; who finds it later
// did not, in a fresh engine neither.
//
// Seen red with every handle of a start that succeeds.
func TestWhoBeganARun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", ""))
	made := make(chan bool, 16)
	var starts sync.WaitGroup
	for range cap(made) {
		starts.Go(func() { made <- b.start(w, "r1", `{"one":[]}`).Created() })
	}
	starts.Wait()
	close(made)
	began := 0
	for m := range made {
		if m {
			began++
		}
	}
	if began != 1 {
		t.Errorf("%d began it", began)
	}
	completed(t, b.rest(b.find("r1")))
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	if b.find("r1").Created() || b.start(w, "r1", `{"one":[]}`).Created() || !b.start(w, "", `{"one":[]}`).Created() {
		t.Error("found for begun, or begun for found")
	}
}
