package runtime_test

import (
	"io"
	"net"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// More stories with real processes: attempts that go another way, and runs that
// share a business key. The receivers' ledgers are the judge.

// supplierTable are tools of the receivers that know when nothing was done.
const supplierTable = `
[tool."supplier"]
kind = "http"
effect = "keyed"
method = "PUT"
url = "http://%ADDR%/tickets/{ticket}/claim"
allow = ["private"]
timeout = "5s"
retry = { tries = 1 }

[tool."note"]
kind = "http"
effect = "keyed"
method = "PUT"
url = "http://%ADDR%/tickets/{ticket}/note"
allow = ["private"]
timeout = "5s"
retry = { tries = 1 }
`

// proxyTable is a mail tool behind an address of its own.
const proxyTable = `
[tool."proxied"]
kind = "http"
effect = "verify"
method = "POST"
url = "http://%PROXY%/mail/send"
allow = ["private"]
timeout = "5s"
retry = { tries = 1 }
key = { json = "/message_id" }

[tool."proxied".verify]
url     = "http://%ADDR%/mail/sent?message_id={key}"
settle  = "200ms"
applied = "size(response.data) >= 1"
absent  = "size(response.data) == 0"
receipt = "/data/0"
`

const claimRequest = `{"ticket":"T1","by":"pawl"}`

// The first supplier refuses, the fallback is paid, the step fails; on the
// second attempt the first supplier works and is paid. The fallback's payment is
// an orphan, also when the process is killed between any two calls of that
// attempt; what the attempt wants again it does not do again.
func TestFallbackThatWasPaidIsAnOrphan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, supplierTable)
	w.script("", uses(`retry = { attempts = 3, backoff = "1ms" }`, "flaky", "supplier", "keyed", "pay.refund", "asked", "mail.send", "once", "note"))
	for i, row := range []struct {
		kind pawl.EventKind
		tool string
	}{{"", ""}, {pawl.ReceiptDurable, "flaky"}, {pawl.Claimed, "asked"}, {pawl.BeforeIntent, "once"}, {pawl.Answered, "once"}, {pawl.Parked, ""}} {
		ticket := "T" + string(rune('1'+i))
		amount := `"amount_cent":1` + string(rune('1'+i))
		id := "r" + ticket
		on := func(k *task) {
			k.ID, k.Hold, k.HoldTool, k.HoldAttempt = id, row.kind, row.tool, 2
		}
		w.task.ID = id
		w.fault("tickets.claim", "429", 1)
		w.fault("tickets.note", "429", 1)
		before := map[string]int{}
		for _, tool := range []string{"tickets.claim", "tickets.note", "pay.refund", "mail.send"} {
			before[tool], _ = w.ledger(tool)
		}
		request := strings.ReplaceAll(claimRequest, "T1", ticket)
		input := program(
			`{"call":"flaky","request":`+request+`,"ignore":true,"else":[`+call("keyed", strings.ReplaceAll(payRequest, `"amount_cent":500`, amount))+`]}`,
			call("asked", strings.ReplaceAll(mailRequest, `"s"`, `"`+ticket+`"`)), call("once", `{"ticket":"`+ticket+`","text":"done"}`))
		p := w.start(input, on)
		if row.kind != "" {
			p.reached()
			p.kill()
			p = w.op("recover", nil)
		}
		out := p.end()
		if out.Error != "" {
			t.Fatal(out.Error)
		}
		c := out.After
		checkDocument(t, c)
		if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "orphan" || len(c.Orphans) != 1 {
			t.Fatalf("%s %s: state %s: %+v, last error %+v", row.kind, row.tool, c.State, c.Reasons, c.LastError)
		}
		o := c.Orphans[0]
		if o.Tool != "keyed" || o.Attempt != 1 || o.Outcome != "applied" || !strings.Contains(string(o.Request), amount) || o.Receipt == nil || o.Key == "" {
			t.Errorf("orphan %+v", o)
		}
		for tool, was := range before {
			if effects, _ := w.ledger(tool); effects != was+1 {
				t.Errorf("%s %s: %d effects of %s", row.kind, row.tool, effects-was, tool)
			}
		}
		if out := w.op("resume", nil).end(); !strings.Contains(out.Error, "needs a decision") {
			t.Errorf("resumed: %q", out.Error)
		}
	}
}

// In the last step mail refuses the connection after the payment, the step
// fails, and mail is back for the second of three attempts.
func TestMailIsBackForTheSecondAttempt(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, strings.ReplaceAll(proxyTable, "%PROXY%", addr))
	w.script("", uses(`retry = { attempts = 3, backoff = "2h", max_backoff = "2h" }`, "keyed", "pay.refund", "asked", "proxied"))
	out := w.start(program(call("keyed", payRequest), call("asked", mailRequest)), func(k *task) { k.Longest = 0 }).end()
	if out.After.State != pawl.StateWaiting || out.After.LastError == nil || out.After.LastError.Code != "not_connected" {
		t.Fatalf("%s, state %s: %+v", out.Error, out.After.State, out.After.LastError)
	}
	forward(t, addr, w.fakes.Addr())
	p := w.op("resume", func(k *task) { k.Hold, k.HoldTool = pawl.Answered, "asked" })
	p.reached()
	p.kill()
	c := w.resume()
	completed(t, c)
	for _, tool := range []string{"pay.refund", "mail.send"} {
		if effects, _ := w.ledger(tool); effects != 1 {
			t.Errorf("%s: %d effects", tool, effects)
		}
	}
	if _, requests := w.ledger("pay.refund"); requests != 1 || c.Step("one").Attempts != 2 {
		t.Errorf("%d requests, %d attempts", requests, c.Step("one").Attempts)
	}
}

// forward lets addr reach the receivers.
func forward(t *testing.T, addr, to string) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		}
	}()
}

// A model names each of its tool calls anew; the name is no part of the request,
// so a payment that was killed behind its effect is found. A second, intended,
// equal refund in a later turn is a second effect.
func TestModelThatNamesItsCallsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "charged", "llm.complete", "keyed", "pay.refund"))
	held, err := w.fakes.Hold(t.Context(), "pay.refund", "after")
	if err != nil {
		t.Fatal(err)
	}
	p := w.start(program(
		call("charged", `{"prompt":"turn 1"}`), call("keyed", payRequest),
		call("charged", `{"prompt":"turn 2"}`), call("keyed", payRequest)), nil)
	<-held
	p.kill()
	p = w.op("resume", func(k *task) { k.Hold, k.HoldTool = pawl.BeforeIntent, "charged" })
	p.reached()
	if effects, requests := w.ledger("pay.refund"); effects != 1 || requests != 1 {
		t.Errorf("first turn: %d effects, %d requests", effects, requests)
	}
	p.kill()
	held, err = w.fakes.Hold(t.Context(), "pay.refund", "after")
	if err != nil {
		t.Fatal(err)
	}
	p = w.op("resume", nil)
	<-held
	p.kill()
	completed(t, w.resume())
	if effects, requests := w.ledger("pay.refund"); effects != 2 || requests != 2 || len(w.keys("pay.refund")) != 2 {
		t.Errorf("%d effects, %d requests, keys %v", effects, requests, w.keys("pay.refund"))
	}
}

// Two runs of one ticket, each in processes of its own; the first is killed at
// every boundary of its payment. The second waits for it, and both end with the
// one refund.
//
// Seen red with an intent that does not take the key.
func TestSecondRunOfATicketWaitsForAKilledFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").script("", uses("", "keyed", "pay.refund"))
	for i, kind := range []pawl.EventKind{pawl.IntentDurable, pawl.Sent, pawl.Answered, pawl.ReceiptDurable} {
		n := string(rune('1' + i))
		input := program(`{"call":"keyed","key":"refund:T` + n + `","request":` + strings.ReplaceAll(payRequest, "W1001", "W100"+n) + `}`)
		first := func(k *task) { k.ID = "first" + n }
		second := func(k *task) { k.ID, k.Longest = "second"+n, 0 }
		p := w.start(input, func(k *task) { first(k); k.Hold = kind })
		p.reached()
		p.kill()
		out := w.start(input, second).end()
		if out.Error != "" {
			t.Fatal(out.Error)
		}
		waits := out.After.State == pawl.StateWaiting && out.After.Reasons[0].Code == "key"
		if kind != pawl.ReceiptDurable && !waits {
			t.Fatalf("%s: state %s: %+v", kind, out.After.State, out.After.Reasons)
		}
		// Either may go on first.
		order := []func(*task){first, second}
		if i%2 == 1 && kind == pawl.Sent {
			order = []func(*task){second, first, second}
		}
		for _, edit := range order {
			out = w.op("resume", edit).end()
			if out.Error != "" {
				t.Fatal(out.Error)
			}
		}
		completed(t, out.After)
		if out.After.Step("one").Calls[0].Borrowed == "" {
			t.Errorf("%s: the second run's call %+v", kind, out.After.Step("one").Calls[0])
		}
		if effects, _ := w.ledger("pay.refund"); effects != i+1 {
			t.Errorf("%s: %d effects", kind, effects-i)
		}
	}
}
