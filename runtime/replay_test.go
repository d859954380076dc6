package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// forger begins runs with journals that the engine did not write.
type forger struct {
	*bundle
	book  *journal.Book
	start journal.Start // of a run that this program began
}

func (b *bundle) forger(w *pawl.Workflow) *forger {
	b.t.Helper()
	f := &forger{bundle: b}
	model := b.start(w, "model", `{}`)
	b.rest(model)
	var err error
	if f.book, err = journal.OpenBook(b.t.Context(), b.store); err == nil {
		err = f.book.View(model.ID(), func(s *journal.Snapshot) error { f.start = *s.Start; return nil })
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

// begin begins the n-th run, under the external id given, and leaves it to
// nobody. Either function may be nil.
func (f *forger) begin(n int, id, input string, change func(*journal.Start), write func(*journal.Run)) {
	f.t.Helper()
	start := f.start
	start.Run = fmt.Sprintf("01F0RGED%018d", n)
	start.ExternalID, start.Root = id, start.Run
	if change != nil {
		change(&start)
	}
	r, _, err := f.book.Begin(f.t.Context(), &start, []byte(input), [32]byte{}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	if write != nil {
		write(r)
	}
	if err := r.Flush(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	r.Close()
}

// call records a call of the tool in attempt 1; status -1 leaves it open.
func (f *forger) call(r *journal.Run, index int, tool string, class host.Class, body string, status int) {
	f.t.Helper()
	hash, err := host.RequestHash(tool, abi.TypeJSON, "", false, []byte(body))
	if err != nil {
		f.t.Fatal(err)
	}
	c := &host.Call{Tool: tool, Attempt: 1, Index: index, Type: abi.TypeJSON, Body: []byte(body), Hash: hash, Try: 1}
	contract := host.Contract{Effect: class}
	l := r.Ledger(0, tool, c, contract, 0)
	if _, err := l.Intend(f.t.Context(), host.Intent{Call: c, Class: class, Contract: contract}); err != nil {
		f.t.Fatal(err)
	}
	if status < 0 {
		return
	}
	receipt := host.Receipt{Status: abi.Status(status), Outcome: host.OutcomeApplied, Response: host.Response{Type: abi.TypeJSON, Body: []byte(`"old"`)}}
	if receipt.Status != abi.OK {
		receipt.Outcome = host.OutcomeNotApplied
	}
	if err := l.Settle(f.t.Context(), receipt); err != nil {
		f.t.Fatal(err)
	}
}

// An attempt that is not what its journal says stops, and sends nothing.
//
// Seen red with the request passed over, with nothing looked for at the end,
// with the calls of the attempt itself, completed writes, or open calls passed
// over there, and with a trap that is not looked at.
func TestAttemptThatIsNotItsJournalStops(t *testing.T) {
	long(t)
	t.Parallel()
	sent, reads, tools := keyedAndRead()
	b := setup(t, tools...)
	f := b.forger(b.deploy(folder(t, "", "tools = [\"keyed\", \"read\"]\nretry = { attempts = 2 }\nlimits = { memory = \"32MiB\" }")))
	type calls func(r *journal.Run)
	one := func(tool string, class host.Class, body string, status int) calls {
		return func(r *journal.Run) { f.call(r, 0, tool, class, body, status) }
	}
	failed := func(before calls) calls {
		return func(r *journal.Run) {
			before(r)
			fail := &journal.Fail{Attempt: 1, Call: -1, Next: 1, Code: "no", Kind: journal.Temporary, Retry: "again"}
			if err := r.Fail(t.Context(), fail); err != nil {
				t.Fatal(err)
			}
		}
	}
	read, keyed := host.Read, host.Keyed
	for i, row := range []struct {
		name, program string
		calls         calls
		diverged      string // "" if it completes
		sent          int64
	}{
		{"the same call, answered", `[{"call":"keyed"}]`, one("keyed", keyed, `{}`, 0), "", 0},
		{"the same call, open", `[{"call":"keyed"}]`, one("keyed", keyed, `{}`, -1), "", 1},
		{"another request, answered", `[{"call":"keyed","request":{"x":1}}]`, one("keyed", keyed, `{}`, 0), "call 0 differs from the journal: expected keyed", 0},
		{"another request, open", `[{"call":"keyed","request":{"x":1}}]`, one("keyed", keyed, `{}`, -1), "call 0 differs from the journal: expected keyed", 0},
		{"another tool", `[{"call":"read"}]`, one("keyed", keyed, `{}`, 0), "expected keyed", 0},
		{"a read not made again", `[]`, one("read", read, `{}`, 0), "got the end of the step", 0},
		{"an open read not made again", `[]`, one("read", read, `{}`, -1), "got the end of the step", 0},
		{"a write not made again", `[]`, one("keyed", keyed, `{}`, 0), "got the end of the step", 0},
		{"a refused try not made again", `[]`, one("keyed", keyed, `{}`, 4), "got the end of the step", 0},
		{"a panic before the call", `[{"panic":"boom"}]`, one("keyed", keyed, `{}`, 0), "got the end of the step", 0},
		{"no memory left before the call", `[{"eat":true}]`, one("keyed", keyed, `{}`, 0), "got the end of the step", 0},
		{"a failure before the call", `[{"fail":"wrong"}]`, one("keyed", keyed, `{}`, 0), "got the end of the step", 0},
		{"an earlier attempt's read left behind", `[]`, failed(one("read", read, `{}`, 0)), "", 0},
		{"an earlier attempt's refused try left behind", `[]`, failed(one("keyed", keyed, `{}`, 4)), "", 0},
		{"an earlier attempt's write left behind", `[]`, failed(one("keyed", keyed, `{}`, 0)), "got the end of the step", 0},
		{"an earlier attempt's open call left behind", `[]`, failed(one("keyed", keyed, `{}`, -1)), "got the end of the step", 0},
		{"an earlier attempt's refused try made again", `[{"call":"keyed"}]`, failed(one("keyed", keyed, `{}`, 4)), "", 1},
		{"an earlier attempt's write is not made again", `[{"call":"keyed"}]`, failed(one("keyed", keyed, `{}`, 0)), "", 0},
	} {
		id := fmt.Sprint("r", i)
		f.begin(i, id, `{"one":`+row.program+`}`, nil, row.calls)
		before := sent.sent.Load() + reads.sent.Load()
		c := b.resume(id)
		checkDocument(t, c)
		if n := sent.sent.Load() + reads.sent.Load() - before; n != row.sent {
			t.Errorf("%s: sent %d times", row.name, n)
		}
		if row.diverged == "" && c.State != pawl.StateCompleted {
			t.Errorf("%s: state %s: %+v", row.name, c.State, c.Reasons)
		}
		if row.diverged != "" && (c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "diverged" ||
			*c.Reasons[0].Call != 0 || !strings.Contains(c.Reasons[0].Sentence, row.diverged)) {
			t.Errorf("%s: state %s: %+v, want %q", row.name, c.State, c.Reasons, row.diverged)
		}
	}
}

// A call that is made again in the next attempt keeps its key; equal calls of
// a step, and equal calls of two steps or two runs, have keys of their own,
// unless the runs share their root.
//
// Seen red with the attempt in the key, without the occurrence, without the
// step, without the root, and with a root that is passed over.
func TestKeysOfCalls(t *testing.T) {
	long(t)
	t.Parallel()
	var flaky counter
	b := setup(t, flaky.tool("flaky", host.Contract{Effect: host.Keyed}, func(n int64, _ *host.Call) (any, error) {
		if n%2 == 1 {
			return nil, host.NotApplied(errors.New("no"))
		}
		return n, nil
	}))
	retried := "tools = [\"flaky\"]\nretry = { attempts = 9, backoff = \"1ms\" }"
	w := b.deploy(folder(t, "", retried, retried))
	const input = `{"one":[{"call":"flaky"},{"call":"flaky"}],"two":[{"call":"flaky"}]}`
	keys := func(id string, opts *pawl.StartOptions) []string {
		t.Helper()
		r, err := pawl.Start(t.Context(), w, id, raw(input), opts)
		if err != nil {
			t.Fatal(err)
		}
		c := b.rest(r)
		completed(t, c)
		var keys []string
		for _, st := range c.Steps {
			for _, call := range st.Calls {
				keys = append(keys, call.Key)
			}
		}
		return keys
	}
	distinct := func(n int) {
		t.Helper()
		if got := flaky.distinctKeys(); got != n {
			t.Errorf("%d different keys, want %d", got, n)
		}
	}
	keys("r1", nil)
	distinct(3)
	if flaky.sent.Load() != 6 {
		t.Errorf("sent %d times", flaky.sent.Load())
	}
	keys("r2", nil)
	distinct(6)
	shared := &pawl.StartOptions{KeyRoot: "root"}
	first, second := keys("r3", shared), keys("r4", shared)
	distinct(9)
	if strings.Join(first, " ") != strings.Join(second, " ") {
		t.Errorf("runs of one root have keys %q and %q", first, second)
	}
}

// What the guest was told is what it is told in a replay: a step that writes
// its answers down gives the same output after a crash behind each of them.
//
// Seen red with an answer without its body, and with times that are told more
// finely than they are recorded.
func TestAnswersAreTheSameInAReplay(t *testing.T) {
	t.Parallel()
	const input = `{"one":[{"call":"keyed"},{"call":"flaky","ignore":true},{"call":"once","ignore":true},{"chance":"keyed"},
		{"call":"read","ignore":true},{"chance":"keyed"},{"log":"here"}]}`
	outputs := map[string]bool{}
	for _, crash := range []bool{false, true} {
		var keyed, flaky, once counter
		b := setup(t,
			keyed.tool("keyed", host.Contract{Effect: host.Keyed}, func(_ int64, c *host.Call) (any, error) { return c.Index, nil }),
			flaky.tool("flaky", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) { return nil, host.NotApplied(errors.New("no")) }),
			once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { return nil, host.Rejected(errors.New("never")) }))
		b.deploy(folder(t, "", `tools = ["keyed", "flaky", "once"]`))
		if crash {
			// Reached in the entry after the first, when all answers are replayed.
			b.crashAt(at(pawl.Logged))
			b.reopen()
		}
		w, err := b.engine.Workflow("test")
		if err != nil {
			t.Fatal(err)
		}
		r := b.start(w, "r1", input)
		if crash {
			b.crashed(r)
			b.crashAt(nil)
			b.reopen()
			r = b.find("r1")
		}
		c := b.rest(r)
		completed(t, c)
		outputs[string(c.Output())] = true
		if sent := flaky.sent.Load() + once.sent.Load(); !crash && sent != 2 {
			t.Errorf("sent %d times", sent)
		}
	}
	if len(outputs) != 1 {
		t.Errorf("outputs %v", outputs)
	}
}

// Payloads that are not kept in their records come through whole: input,
// request, response and output, to the next step, to the next attempt, and to
// the next process.
//
// Seen red with bodies that are read before they are durable and not waited
// for, and with an answer without its body.
func TestLargePayloads(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("large ", 2000)
	got := map[string]string{}
	var down counter
	b := setup(t,
		host.Func("keyed", func(_ context.Context, c *host.Call, req map[string]string) (map[string]string, error) {
			got[fmt.Sprint(c.Step, c.Index)] = req["text"]
			return map[string]string{"text": req["text"] + "answer"}, nil
		}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}}),
		downOnce(&down, host.Contract{Effect: host.Read}))
	step := "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 2, backoff = \"1ms\" }"
	f := folder(t, "", step, step)
	f["workflow.toml"].Data = []byte(strings.Replace(string(f["workflow.toml"].Data),
		`with = { do = "input.two"`, `with = { do = "[{'call': 'flaky'}, {'call': 'keyed', 'request': steps.one[0]}, {'call': 'keyed', 'request': {'text': ''}}]"`, 1))
	b.deploy(f)
	// Nothing is written before somebody waits for it, so that what a step
	// reads of the one before is not there yet.
	reached := false
	b.crashAt(func(e pawl.Event) bool {
		last := e.Kind == pawl.Sent && e.Step == "two" && e.Call == 2
		reached = reached || last
		return last
	})
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", `{"one":[{"call":"keyed","request":{"text":"`+large+`"}}]}`)
	b.crashed(r)
	if !reached {
		t.Fatal("step two did not get what step one gave")
	}
	b.crashAt(nil)
	b.reopen()
	c := b.rest(b.find("r1"))
	completed(t, c)
	checkDocument(t, c)
	if got["one0"] != large || got["two1"] != large+"answer" {
		t.Errorf("sent %d and %d bytes", len(got["one0"]), len(got["two1"]))
	}
	if want := `["up",{"text":"` + large + `answeranswer"},{"text":"answer"}]`; string(c.Output()) != want {
		t.Errorf("output of %d bytes, want %d: %.40s", len(c.Output()), len(want), c.Output())
	}
	if string(c.Step("one").Calls[0].Request) != `{"text":"`+large+`"}` || len(c.Step("one").Calls[0].Receipt.Response) < len(large) {
		t.Error("the document does not show the request and the response")
	}
	// The same start again, several at once, is the same run.
	w, err = b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	if again := b.start(w, "r1", `{"one":[{"call":"keyed","request":{"text":"`+large+`"}}]}`); again.ID() != c.Run {
		t.Errorf("run %s, was %s", again.ID(), c.Run)
	}
}
