package runtime_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Stories of what goes wrong elsewhere, with real processes, real signals and
// receivers whose ledgers are the judge.

const (
	payRequest  = `{"order":"W1001","amount_cent":500,"currency":"EUR"}`
	mailRequest = `{"to":"a@example.org","subject":"s","text":"t"}`
)

func call(tool, request string) string { return `{"call":"` + tool + `","request":` + request + `}` }

// program is the input of a script workflow of one step.
func program(ops ...string) string { return `{"one":[` + strings.Join(ops, ",") + `]}` }

// blind is a payment that is keyed and cannot be asked; deaf one without keys
// that cannot be asked either.
const moreTools = `
[tool."blind"]
kind = "http"
effect = "keyed"
method = "POST"
url = "http://%ADDR%/pay/refunds"
allow = ["private"]
timeout = "400ms"
retry = { tries = 4, backoff = "300ms" }

[tool."deaf"]
kind = "http"
method = "POST"
url = "http://%ADDR%/pay/refunds"
allow = ["private"]
timeout = "400ms"
retry = { tries = 4, backoff = "20ms" }
help = "look for {key}"
`

// Seen red with a key that is made anew when the call is found open.
func TestReceiverFailsTwiceAndTheProcessIsKilledWhileItHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, moreTools).script("", uses("", "keyed", "blind"))
	w.fault("pay.refund", "500-no-commit", 2)
	p := w.start(program(call("keyed", payRequest)), nil)
	eventually(t, func() bool { _, requests := w.ledger("pay.refund"); return requests == 2 })
	held, err := w.fakes.Hold(t.Context(), "pay.refund", "before")
	if err != nil {
		t.Fatal(err)
	}
	<-held
	p.kill()
	c := w.resume()
	completed(t, c)
	effects, requests := w.ledger("pay.refund")
	if keys := w.keys("pay.refund"); effects != 1 || requests != 4 || len(keys) != 1 {
		t.Errorf("%d effects, %d requests, keys %v", effects, requests, keys)
	}
	if c.Step("one").Calls[0].Tries != 4 || c.Budgets.Calls.Used != 4 || c.Budgets.Recoveries.Used != 1 {
		t.Errorf("%d tries, %+v", c.Step("one").Calls[0].Tries, c.Budgets)
	}
}

// What is done stays done, what is unknown is asked for, and what is pending is
// sent, each under the key that the document shows.
//
// Seen red with a key that is made anew when the call is found open.
func TestKilledWhileTheSecondOfThreeEffectsIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "tickets.claim", "asked", "mail.send", "once", "tickets.note"))
	held, err := w.fakes.Hold(t.Context(), "mail.send", "after")
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(program(
		call("keyed", `{"ticket":"T1","by":"pawl"}`), call("asked", mailRequest), call("once", `{"ticket":"T1","text":"done"}`)), nil)
	<-held
	p.kill()
	before := w.document()
	if before.State != pawl.StateInterrupted || before.ResumeFrom != "one" {
		t.Fatalf("state %s, resume from %s", before.State, before.ResumeFrom)
	}
	calls := before.Step("one").Calls
	if len(calls) != 2 || calls[0].Outcome != "applied" || calls[1].Outcome != "unknown" {
		t.Fatalf("calls %+v", calls)
	}
	c := w.resume()
	completed(t, c)
	for i, tool := range []string{"tickets.claim", "mail.send", "tickets.note"} {
		if effects, requests := w.ledger(tool); effects != 1 || requests != 1 {
			t.Errorf("%s: %d effects, %d requests", tool, effects, requests)
		}
		key := c.Step("one").Calls[i].Key
		if n := w.keys(tool); len(n) != 1 || n[key] != 1 {
			t.Errorf("%s: the document says key %q, the receiver saw %v", tool, key, n)
		}
		if i < len(calls) && calls[i].Key != key {
			t.Errorf("%s: key %s before the resume, %s after it", tool, calls[i].Key, key)
		}
	}
	if r := c.Step("one").Calls[1].Receipt; r == nil || !r.Verified {
		t.Errorf("the mail's receipt was not learnt by asking: %+v", r)
	}
}

func TestCompletedRunIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "tickets.claim"))
	input := program(call("keyed", `{"ticket":"T1","by":"pawl"}`))
	first := w.start(input, nil).end()
	lines := len(w.lines())
	resumed, started := w.resume(), w.start(input, nil).end()
	for _, c := range []*pawl.Checkpoint{resumed, started.After} {
		completed(t, c)
		if c.Seq != first.After.Seq || string(c.Output()) != string(first.After.Output()) {
			t.Errorf("seq %d, output %s", c.Seq, c.Output())
		}
	}
	if n := len(w.lines()); n != lines {
		t.Errorf("the receivers saw %d more lines", n-lines)
	}
}

// Seen red with the input passed over.
func TestRestartedClientStartsAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "tickets.claim"))
	input := program(call("keyed", `{"ticket":"T1","by":"pawl"}`))
	p := w.start(input, func(k *task) { k.Hold = pawl.Answered })
	p.reached()
	p.kill()
	out := w.start(strings.Replace(input, `"pawl"`, `"somebody"`, 1), nil).end()
	if !strings.Contains(out.Error, "taken by a run with another input") {
		t.Fatalf("another input under the same id: %q", out.Error)
	}
	again := w.start(input, nil).end()
	if again.Error != "" {
		t.Fatal(again.Error)
	}
	completed(t, again.After)
	if effects, _ := w.ledger("tickets.claim"); effects != 1 {
		t.Errorf("%d effects", effects)
	}
}

// Seen red with re-entries that are free.
func TestKilledTwiceDuringTheThirdOfFourAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("deadline = \"1h\"", uses(`retry = { attempts = 4, backoff = "1ms", max_backoff = "2ms" }`, "read", "orders.get"))
	w.fault("orders.get", "500-no-commit", -1)
	third := func(k *task) { k.Hold, k.HoldAttempt = pawl.Retrying, 3 }
	p := w.start(program(call("read", `{"order":"W1001"}`)), third)
	p.reached()
	p.kill()
	deadline := w.document().Budgets.Deadline
	p = w.op("resume", third)
	p.reached()
	p.kill()
	c := w.resume()
	if c.State != pawl.StateFailed || c.Budgets.Attempts.Used != 4 || c.Budgets.Recoveries.Used != 2 {
		t.Errorf("state %s, %+v", c.State, c.Budgets)
	}
	if !c.Budgets.Deadline.Equal(*deadline) {
		t.Errorf("the deadline moved from %s to %s", deadline, c.Budgets.Deadline)
	}
}

func TestRecoveryAtOpenNeedsNoTimer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "tickets.claim"), uses("", "asked", "mail.send"))
	p := w.start(`{"one":[`+call("keyed", `{"ticket":"T1","by":"pawl"}`)+`],"two":[`+call("asked", mailRequest)+`]}`,
		func(k *task) { k.Hold, k.HoldTool = pawl.Sent, "asked" })
	p.reached()
	p.kill()
	out := w.op("recover", nil).end()
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	completed(t, out.After)
	if out.Resumption.RepeatedCompletedSteps || out.Resumption.ResumeFrom != "two" {
		t.Errorf("%+v", out.Resumption)
	}
	if effects, requests := w.ledger("tickets.claim"); effects != 1 || requests != 1 {
		t.Errorf("claim: %d effects, %d requests", effects, requests)
	}
	if effects, _ := w.ledger("mail.send"); effects != 1 {
		t.Errorf("mail: %d effects", effects)
	}
}

// The payment is applied, its answer lost, the process killed; meanwhile the
// token is rotated, so that what comes next is a 401. That says nothing about
// the payment.
//
// Seen red with a 401 that is taken for a refusal of the request.
func TestRefusedCredentialsSettleNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, moreTools).script("", uses("", "keyed", "blind"))
	held, err := w.fakes.Hold(t.Context(), "pay.refund", "after")
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(program(call("keyed", payRequest)), nil)
	<-held
	p.kill()
	w.fault("pay.refund", "401", -1)
	out := w.op("resume", func(k *task) { k.Longest = 0 }).end()
	c := out.After
	if out.Error != "" || c.State != pawl.StateWaiting || c.Reasons[0].Code != "tool_paused" {
		t.Fatalf("%s, state %s: %+v", out.Error, c.State, c.Reasons)
	}
	if call := c.Step("one").Calls[0]; call.Outcome != "unknown" || call.Receipt != nil {
		t.Errorf("call %+v", call)
	}
	w.fault("pay.refund", "ok", 0)
	completed(t, w.resume())
	if effects, _ := w.ledger("pay.refund"); effects != 1 || len(w.keys("pay.refund")) != 1 {
		t.Errorf("%d effects, keys %v", effects, w.keys("pay.refund"))
	}
}

// Killed after sending to a slow receiver and resumed while its handler still
// runs: that the receiver does not know the key yet is no evidence.
//
// Seen red with the settle time left out.
func TestAbsentCountsOnlyAfterTheSettleTime(t *testing.T) {
	t.Parallel()
	// The receiver takes long, so that the fresh process asks while it still works
	// even on a slow machine; the settle time is longer.
	w := newWorld(t, "").script("", uses("", "asked", "mail.send"))
	w.write("tools.toml", strings.ReplaceAll(w.read(w.task.Tools), `settle  = "200ms"`, `settle  = "10s"`))
	w.fault("mail.send", "slow(9000)", 1)
	p := w.start(program(call("asked", mailRequest)), nil)
	eventually(t, func() bool { _, requests := w.ledger("mail.send"); return requests == 1 })
	p.kill()
	completed(t, w.resume())
	effects, requests := w.ledger("mail.send")
	_, asked := w.ledger("mail.send.verify")
	if effects != 1 || requests != 1 || asked < 2 {
		t.Errorf("%d effects, %d requests, asked %d times", effects, requests, asked)
	}
}

// eventually waits until something has happened at the receivers.
func eventually(t *testing.T, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
}

func TestChargeOfAPaidModelCallStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("[budget]\ncalls = 5", uses("", "charged", "llm.complete"))
	held, err := w.fakes.Hold(t.Context(), "llm.complete", "before")
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(program(call("charged", `{"prompt":"hello"}`)), nil)
	<-held
	p.kill()
	if c := w.document(); c.Budgets.Calls.Used != 1 || c.Step("one").Calls[0].Tries != 1 {
		t.Fatalf("the charge of the call was won back: %+v", c.Budgets)
	}
	c := w.resume()
	completed(t, c)
	if c.Budgets.Calls.Used != 2 || c.Step("one").Calls[0].Tries != 2 {
		t.Errorf("%+v", c.Budgets)
	}
}

func TestMailWhoseOutcomeIsUnknownIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		mode              string
		effects, requests int
	}{
		{"commit-500", 1, 1},
		{"commit-hang", 1, 1},
		{"lost", 1, 2},
	} {
		t.Run(row.mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "").script("", uses("", "asked", "mail.send"))
			w.fault("mail.send", row.mode, 1)
			out := w.start(program(call("asked", mailRequest)), nil).end()
			if out.Error != "" {
				t.Fatal(out.Error)
			}
			completed(t, out.After)
			if effects, requests := w.ledger("mail.send"); effects != row.effects || requests != row.requests {
				t.Errorf("%d effects, %d requests, want %d, %d", effects, requests, row.effects, row.requests)
			}
		})
	}
}

func TestMailThatNobodyCanSayAnythingAboutWaitsForAPerson(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "asked", "mail.send"))
	w.fault("mail.send", "commit-hang", 1)
	w.fault("mail.send.verify", "503", -1)
	out := w.start(program(call("asked", mailRequest)), nil).end()
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	if c := out.After; c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" || !strings.Contains(c.Reasons[0].Help, c.Step("one").Calls[0].Key) {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	if effects, requests := w.ledger("mail.send"); effects != 1 || requests != 1 {
		t.Errorf("%d effects, %d requests", effects, requests)
	}
	// When the receiver can say again, a resume asks and goes on.
	w.fault("mail.send.verify", "ok", 0)
	completed(t, w.resume())
	if effects, requests := w.ledger("mail.send"); effects != 1 || requests != 1 {
		t.Errorf("after the resume: %d effects, %d requests", effects, requests)
	}
}

func TestPaymentWithoutKeysIsNeverRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, moreTools).script("", uses(`retry = { attempts = 3, backoff = "1ms" }`, "once", "deaf"))
	w.fault("pay.refund", "commit-hang", 1)
	out := w.start(program(call("once", payRequest)), nil).end()
	if c := out.After; out.Error != "" || c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" {
		t.Fatalf("%s, state %s: %+v", out.Error, c.State, c.Reasons)
	}
	if c := w.resume(); c.State != pawl.StateNeedsDecision {
		t.Errorf("after a resume: state %s", c.State)
	}
	if effects, requests := w.ledger("pay.refund"); effects != 1 || requests != 1 {
		t.Errorf("%d effects, %d requests", effects, requests)
	}
}

// In the last step the mail server refuses connections after the payment
// succeeded; the step is tried again when it is back.
//
// Seen red with a retry that makes completed writes again.
func TestMailServerIsAwayAfterThePayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
[tool."mail.away"]
kind = "http"
effect = "verify"
method = "POST"
url = "http://127.0.0.1:1/mail/send"
allow = ["private"]
timeout = "400ms"
key = { json = "/message_id" }
[tool."mail.away".verify]
url = "http://%ADDR%/mail/sent?message_id={key}"
settle = "200ms"
applied = "size(response.data) >= 1"
absent = "size(response.data) == 0"
`).script("", uses(`retry = { attempts = 3, backoff = "1h", max_backoff = "1h" }`, "keyed", "pay.refund", "asked", "mail.away"))
	out := w.start(program(call("keyed", payRequest), call("asked", mailRequest)), func(k *task) { k.Longest = time.Second }).end()
	if c := out.After; out.Error != "" || c.State != pawl.StateWaiting || c.Step("one").Calls[1].Outcome != "not_applied" {
		t.Fatalf("%s, state %s: %+v", out.Error, c.State, c.Step("one"))
	}
	// The address is no identity: the operator points the tool elsewhere.
	w.write("tools.toml", strings.ReplaceAll(w.read(w.task.Tools), "127.0.0.1:1/", w.fakes.Addr()+"/"))
	c := w.resume()
	completed(t, c)
	// One call of the payment, two of the mail.
	if c.Step("one").Attempts != 2 || c.Budgets.Calls.Used != 3 || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("%d attempts, %+v", c.Step("one").Attempts, c.Budgets)
	}
	for _, tool := range []string{"pay.refund", "mail.send"} {
		if effects, requests := w.ledger(tool); effects != 1 || requests != 1 {
			t.Errorf("%s: %d effects, %d requests", tool, effects, requests)
		}
	}
}

func TestPaymentThatHangsAfterItIsAppliedIsAskedForFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").refund(nil)
	w.fault("pay.refund", "commit-hang", 1)
	out := w.start(w.read(example+"/tickets/t1.json"), nil).end()
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	completed(t, out.After)
	effects, posts := w.ledger("pay.refund")
	if effects != 1 || posts != 1 {
		t.Errorf("%d effects, %d POSTs", effects, posts)
	}
	if _, asked := w.ledger("pay.refund.verify"); asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// Seen red with the process left out of the error.
func TestStoreIsLockedByOneProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "tickets.claim"))
	p := w.start(program(call("keyed", `{"ticket":"T1","by":"pawl"}`)), func(k *task) { k.Hold = pawl.Sent })
	p.reached()
	out := w.op("resume", nil).end()
	if !strings.Contains(out.Error, fmt.Sprintf("locked by process %d", p.cmd.Process.Pid)) {
		t.Errorf("a second process: %q", out.Error)
	}
	p.kill()
	completed(t, w.resume())
	if effects, _ := w.ledger("tickets.claim"); effects != 1 {
		t.Errorf("%d effects", effects)
	}
}

func TestChanceIsTheSameInTwoProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, moreTools+`
[tool."any"]
kind = "http"
effect = "keyed"
method = "POST"
url = "http://%ADDR%/mail/send"
allow = ["private"]
timeout = "400ms"
`).script("", uses("", "keyed", "any"))
	// The receiver refuses the strange request; what counts is that both
	// processes make the same one: it is found in the journal.
	p := w.start(program(`{"chance":"keyed"}`), func(k *task) { k.Hold = pawl.Sent })
	p.reached()
	p.kill()
	first := w.document().Step("one").Calls[0]
	c := w.resume()
	if c.State == pawl.StateNeedsDecision {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	if second := c.Step("one").Calls[0]; second.RequestHash != first.RequestHash || second.Key != first.Key || second.Tries != 2 {
		t.Errorf("%+v, then %+v", first, second)
	}
}
