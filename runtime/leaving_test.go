package runtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// plain is a tool that does what f says.
type plain struct {
	id       string
	contract host.Contract
	sent     atomic.Int64
	f        func(n int64, c *host.Call) host.Answer
}

func (p *plain) ID() string              { return p.id }
func (p *plain) Contract() host.Contract { return p.contract }
func (p *plain) Receiver() string        { return "test://" + p.id }
func (p *plain) Try(_ context.Context, c *host.Call) host.Answer {
	c.Sent()
	return p.f(p.sent.Add(1), c)
}

var fine = host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: host.Response{Type: "json", Body: []byte("1")}}

func later(after time.Duration) host.Answer {
	return host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_503", RetryAfter: after}
}

var refusedCredentials = host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_401", CredentialsRefused: true}

// waits fails the test unless the run waits for what the code says.
func (b *bundle) waits(r *pawl.Run, code string) *pawl.Checkpoint {
	b.t.Helper()
	c := b.wait(r, time.Second)
	checkDocument(b.t, c)
	if c.State != pawl.StateWaiting || len(c.Reasons) != 1 || c.Reasons[0].Code != code || c.Reasons[0].At == nil || len(c.Actions) != 1 {
		b.t.Fatalf("state %s: %+v, want %s; %+v", c.State, c.Reasons, code, c.LastError)
	}
	return c
}

// A call that its receiver wants later leaves memory: its worker is free, it is
// there again after a restart with its time, and going on with it costs nothing
// and counts its tries on.
//
// Seen red with a wait inside the instance, and with the wait forgotten at the
// restart.
func TestCallThatWaitsLeavesMemory(t *testing.T) {
	t.Parallel()
	var keyed counter
	slow := &plain{id: "once", contract: host.Contract{Effect: host.Once, Tries: 3}}
	slow.f = func(n int64, _ *host.Call) host.Answer {
		if n%3 != 0 {
			return later(time.Duration(n) * time.Hour)
		}
		return later(0) // the third try of an entry is its last
	}
	b := setup(t, slow, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	b.close()
	b.opts.Workers = 1
	b.open()
	w := b.deploy(folder(t, "", `tools = ["once", "keyed"]`))
	r := b.start(w, "r1", `{"one":[{"call":"keyed"},{"call":"once","ignore":true}]}`)
	c := b.waits(r, "retry_after")
	at := *c.Reasons[0].At
	if d := time.Until(at); d < 50*time.Minute || d > time.Hour || *c.Reasons[0].Call != 1 || c.Step("one").State != pawl.StateWaiting {
		t.Errorf("waits %s: %+v", d, c.Reasons[0])
	}
	if call := c.Step("one").Calls[1]; call.Tries != 1 || call.Receipt != nil || call.Receiver != "test://once" || call.ShownHash == "" {
		t.Errorf("call %+v", call)
	}
	completed(t, b.rest(b.start(w, "r2", `{"one":[{"call":"keyed"}]}`))) // the only worker is free
	b.reopen()
	if h := b.engine.Health(); h.Waiting != 1 || h.Live != 0 {
		t.Errorf("%d waiting, %d live", h.Waiting, h.Live)
	}
	if c = b.waits(b.find("r1"), "retry_after"); !c.Reasons[0].At.Equal(at) {
		t.Errorf("waits until %s, was %s", c.Reasons[0].At, at)
	}
	if err := b.find("r1").Resume(); err != nil {
		t.Fatal(err)
	}
	b.waits(b.find("r1"), "retry_after")
	c = b.resume("r1")
	completed(t, c)
	u := c.Budgets
	if slow.sent.Load() != 3 || keyed.sent.Load() != 2 || u.Calls.Used != 4 || u.Recoveries.Used != 0 || u.Attempts.Used != 1 {
		t.Errorf("sent %d and %d times, %+v", slow.sent.Load(), keyed.sent.Load(), u)
	}
	if call := c.Step("one").Calls[1]; call.Tries != 3 || call.Outcome != "not_applied" {
		t.Errorf("call %+v", call)
	}
}

// A wait that is over ends by itself, in the process that opens the store; a
// crash behind the wait is charged, and forgets nothing of it.
//
// Seen red with a re-entry that is charged, with tries that are counted anew,
// and with the place of the wait forgotten.
func TestWaitEndsByItself(t *testing.T) {
	t.Parallel()
	slow := &plain{id: "once", contract: host.Contract{Effect: host.Once, Tries: 2}}
	slow.f = func(int64, *host.Call) host.Answer { return fine }
	b := setup(t, slow)
	f := b.forger(b.deploy(folder(t, "", `tools = ["once"]`)))
	for i, row := range []struct {
		id     string
		before func(r *journal.Run)
	}{
		{"r1", func(*journal.Run) {}}, // left in good order
		{"r2", func(r *journal.Run) { // crashed when it had gone on
			if _, err := r.Reenter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		f.begin(i, row.id, `{"one":[{"call":"once"}]}`, nil, func(r *journal.Run) {
			f.call(r, 0, "once", host.Once, `{}`, -1)
			err := r.Wait(t.Context(), &journal.Wait{
				Attempt: 1, Code: journal.WaitBackoff, Until: time.Now().UnixMicro(), Tool: "once", Sentence: "waits", Waker: "timer",
				Waited: &journal.Waited{Sent: 1, Unapplied: true, Code: "http_503", Outcome: uint8(host.OutcomeNotApplied)},
			})
			if err != nil {
				t.Fatal(err)
			}
			row.before(r)
		})
	}
	b.reopen()
	for id, used := range map[string]int64{"r1": 0, "r2": 1} {
		c := b.rest(b.find(id))
		completed(t, c)
		if c.Budgets.Recoveries.Used != used || c.Step("one").Calls[0].Tries != 2 {
			t.Errorf("%s: %+v, %d tries", id, c.Budgets.Recoveries, c.Step("one").Calls[0].Tries)
		}
	}
	if slow.sent.Load() != 2 {
		t.Errorf("sent %d times", slow.sent.Load())
	}
}

// A call for which a secret is missing was refused by nobody, and the run says
// which secret it is.
//
// Seen red with the code alone.
func TestMissingSecretIsNamed(t *testing.T) {
	t.Parallel()
	pay := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed, Tries: 1}}
	pay.f = func(int64, *host.Call) host.Answer {
		return host.Answer{
			Outcome: host.OutcomeNotApplied, Code: "secret_missing", Message: "secret tok: not set", CredentialsRefused: true,
		}
	}
	b := setup(t, pay)
	r := b.start(b.deploy(folder(t, "", `tools = ["keyed"]`)), "r1", `{"one":[{"call":"keyed"}]}`)
	const want = "keyed has no credentials that work (secret tok: not set) since 20"
	if got := b.waits(r, "tool_paused").Reasons[0].Sentence; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A tool whose credentials are refused is left alone: other calls of it wait
// without being sent and without burning anything, in a fresh process too. A
// person's resume tries at once, and what works lets the others go.
//
// Seen red with calls that pass the pause, with one that is forgotten by the
// restart, with a success that lets nobody go, with a resume that waits, and
// with refused sendings that are charged.
func TestToolWithRefusedCredentialsIsPaused(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	pay := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed, Tries: 1}}
	pay.f = func(int64, *host.Call) host.Answer {
		if mended.Load() {
			return fine
		}
		return refusedCredentials
	}
	var read counter
	b := setup(t, pay, read.tool("read", host.Contract{Effect: host.Read}, nil))
	w := b.deploy(folder(t, "[budget]\ncalls = 2", `tools = ["keyed", "read"]`))
	const input = `{"one":[{"call":"read"},{"call":"keyed"}]}`
	first := b.start(w, "r1", input)
	c := b.waits(first, "tool_paused")
	for _, want := range []string{"keyed refused the credentials (HTTP 401) since 20", "mend the secret, then resume"} {
		if !strings.Contains(c.Reasons[0].Sentence, want) {
			t.Errorf("%q does not say %q", c.Reasons[0].Sentence, want)
		}
	}
	for _, id := range []string{"r2", "r3"} {
		c := b.waits(b.start(w, id, input), "tool_paused")
		if len(c.Step("one").Calls) != 1 || c.Budgets.Calls.Used != 1 {
			t.Errorf("%s: %+v, %+v", id, c.Step("one").Calls, c.Budgets.Calls)
		}
	}
	if pay.sent.Load() != 1 {
		t.Fatalf("sent %d times", pay.sent.Load())
	}
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	b.waits(b.start(w, "r4", input), "tool_paused")
	if err := b.find("r1").Resume(); err != nil {
		t.Fatal(err)
	}
	b.waits(b.find("r1"), "tool_paused")
	if pay.sent.Load() != 2 {
		t.Fatalf("sent %d times", pay.sent.Load())
	}
	mended.Store(true)
	completed(t, b.resume("r3"))
	for _, id := range []string{"r1", "r2", "r4"} {
		c := b.rest(b.find(id))
		completed(t, c)
		u := c.Budgets
		if u.Attempts.Used != 1 || u.Calls.Used != 2 || u.Recoveries.Used != 0 || c.Step("one").Attempts != 1 {
			t.Errorf("%s: %+v", id, u)
		}
	}
	if pay.sent.Load() != 6 || read.sent.Load() != 4 {
		t.Errorf("sent %d and %d times", pay.sent.Load(), read.sent.Load())
	}
}

// A secret that was missing is there again: that the call then meets something
// else does not keep the tool paused for want of the secret.
// Seen red with pauses that only what settles a call ends.
func TestSecretThatIsThereAgainEndsThePause(t *testing.T) {
	t.Parallel()
	pay := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed, Tries: 1}}
	pay.f = func(n int64, _ *host.Call) host.Answer {
		switch n {
		case 1:
			return host.Answer{Outcome: host.OutcomeNotApplied, Code: "secret_missing", CredentialsRefused: true}
		case 2:
			return host.Answer{Outcome: host.OutcomeNotApplied, Code: "address_refused"}
		}
		return fine
	}
	b := setup(t, pay)
	r := b.start(b.deploy(folder(t, "", "tools = [\"keyed\"]\nretry = { attempts = 2, backoff = \"1ms\" }")), "r1", `{"one":[{"call":"keyed"}]}`)
	b.waits(r, "tool_paused")
	completed(t, b.resume("r1"))
	if pay.sent.Load() != 3 {
		t.Errorf("sent %d times", pay.sent.Load())
	}
}
