package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

const keyedRefund = `{"call":"keyed","key":"refund:T1","request":{"amount":20}}`

const twoReads = `{"call":"read","key":"refund:T1"},{"call":"read","key":"refund:T1"}`

// Two runs of one ticket refund once: the second waits for the first without a
// worker, and gets its receipt when that comes.
//
// Seen red with keys of one run only, with a second that does not wait, and
// with a first that wakes nobody.
func TestTwoRunsOfOneTicketRefundOnce(t *testing.T) {
	t.Parallel()
	letGo := make(chan struct{})
	var pay counter
	b := setup(t, pay.tool("keyed", host.Contract{Effect: host.Keyed}, func(n int64, _ *host.Call) (any, error) {
		<-letGo
		return n, nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	first := b.start(w, "r1", `{"one":[`+keyedRefund+`]}`)
	eventually(t, func() bool { return pay.sent.Load() == 1 })
	second := b.start(w, "r2", `{"one":[`+keyedRefund+`]}`)
	c := b.waits(second, "key")
	if c.Reasons[0].Waker != "run "+first.ID() || !strings.Contains(c.Reasons[0].Sentence, `"refund:T1" of keyed`) || len(c.Step("one").Calls) != 0 {
		t.Errorf("%+v", c.Reasons[0])
	}
	close(letGo)
	one, two := b.rest(first), b.rest(second)
	completed(t, one)
	completed(t, two)
	checkDocument(t, two)
	if string(one.Output()) != string(two.Output()) || pay.sent.Load() != 1 {
		t.Errorf("outputs %s and %s, sent %d times", one.Output(), two.Output(), pay.sent.Load())
	}
	call := two.Step("one").Calls[0]
	if call.Borrowed != first.ID() || call.Key != one.Step("one").Calls[0].Key || call.Tries != 0 || two.Budgets.Calls.Used != 0 || two.Budgets.Recoveries.Used != 0 {
		t.Errorf("call %+v, %+v", call, two.Budgets)
	}
	if one.Step("one").Calls[0].BusinessKey != "refund:T1" {
		t.Errorf("call %+v", one.Step("one").Calls[0])
	}
}

// What a key stands for once its first call has come to something.
//
// Seen red with a second request that is sent, with a rejected key that is sent
// again as it was, with one that stays taken, with one that was not applied and
// stays taken or gets another key, with a key on a read that is shared, and
// with the other tool's key taken for this one's.
func TestWhatABusinessKeyStandsFor(t *testing.T) {
	t.Parallel()
	answers := map[string]error{"rejected": host.Rejected(errors.New("no")), "not applied": host.NotApplied(errors.New("not now"))}
	for name, row := range map[string]struct {
		first  string // what the first call comes to; "" is applied
		ops    string // of the second run, or of the first one's second step
		same   bool   // one run
		sent   int64
		keys   int
		output string
	}{
		"applied":             {"", keyedRefund, false, 1, 1, `[1]`},
		"applied, in one run": {"", keyedRefund + `,` + keyedRefund, true, 1, 1, `[1,1]`},
		"applied, another request": {
			"", `{"call":"keyed","key":"refund:T1","request":{"amount":200},"ignore":true}`, false, 1, 1,
			`has used the key \"refund:T1\" of keyed for another request`,
		},
		"applied, the same written otherwise": {"", `{"call":"keyed","key":"refund:T1","request":{"amount": 20.0}}`, false, 1, 1, `[1]`},
		"applied, another key":                {"", `{"call":"keyed","key":"refund:T2","request":{"amount":20}}`, false, 2, 2, `[2]`},
		"applied, without a key":              {"", `{"call":"keyed","request":{"amount":20}}`, false, 2, 2, `[2]`},
		"applied, another tool":               {"", `{"call":"once","key":"refund:T1","request":{"amount":20}}`, false, 2, 2, `[2]`},
		"applied, two reads":                  {"", twoReads, false, 3, 3, `[2,3]`},
		"rejected":                            {"rejected", keyedRefund, false, 2, 2, `[2]`},
		"rejected, another request":           {"rejected", `{"call":"keyed","key":"refund:T1","request":{"amount":1}}`, false, 2, 2, `[2]`},
		"not applied":                         {"not applied", keyedRefund, false, 2, 1, `[2]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pay counter
			f := func(n int64, _ *host.Call) (any, error) {
				if n == 1 && row.first != "" {
					return nil, answers[row.first]
				}
				return n, nil
			}
			b := setup(t, pay.tool("keyed", host.Contract{Effect: host.Keyed, Tries: 1}, f),
				pay.tool("once", host.Contract{}, f), pay.tool("read", host.Contract{Effect: host.Read}, f))
			step := `tools = ["keyed", "once", "read"]`
			w := b.deploy(folder(t, "", step, step))
			first := strings.TrimSuffix(keyedRefund, "}") + `,"ignore":true}`
			input := `{"one":[` + first + `],"two":[]}`
			if row.same {
				input = `{"one":[` + first + `],"two":[` + row.ops + `]}`
			}
			c := b.rest(b.start(w, "r1", input))
			completed(t, c)
			if !row.same {
				c = b.rest(b.start(w, "r2", `{"one":[],"two":[`+row.ops+`]}`))
				completed(t, c)
			}
			checkDocument(t, c)
			if pay.sent.Load() != row.sent || pay.distinctKeys() != row.keys || !strings.Contains(string(c.Output()), row.output) {
				t.Errorf("sent %d times with %d keys, output %s", pay.sent.Load(), pay.distinctKeys(), c.Output())
			}
			if strings.Contains(name, "another request") && row.first == "" {
				if call := c.Step("two").Calls[0]; call.Status != "invalid" || call.Code != "key_conflict" {
					t.Errorf("call %+v", call)
				}
			}
		})
	}
}

// A key whose first call is unknown: others wait, through a restart too, until
// that is found out. If the first step only wanted to see that it is unknown,
// others are told, or stop for a person.
//
// Seen red with a key that is free while its call is unknown, with one that
// stays so when that is found out, and with an unknown that is lent to a step
// that did not ask to see it.
func TestBusinessKeyOfAnUnknownCall(t *testing.T) {
	t.Parallel()
	var pay counter
	var knows atomic.Bool
	lost := func(context.Context, *host.Call, any) (any, error) { pay.sent.Add(1); return nil, errors.New("lost") }
	b := setup(t, host.Func("asked", lost, &host.FuncOptions{
		Contract: host.Contract{Effect: host.Verify, Backoff: time.Millisecond, MaxBackoff: time.Millisecond},
		Verify: func(context.Context, *host.Call) (any, bool, error) {
			if knows.Load() {
				return "paid", true, nil
			}
			return nil, false, errors.New("away")
		},
	}), host.Func("once", lost, nil))
	step := `tools = ["asked", "once"]`
	w := b.deploy(folder(t, "", step))
	const asked = `{"one":[{"call":"asked","key":"k"}]}`
	if c := b.rest(b.start(w, "r1", asked)); c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" {
		t.Fatalf("state %s: %+v", c.State, c.Reasons)
	}
	b.waits(b.start(w, "r2", asked), "key")
	b.reopen()
	b.waits(b.find("r2"), "key")
	knows.Store(true)
	completed(t, b.resume("r1"))
	c := b.rest(b.find("r2"))
	completed(t, c)
	if string(c.Output()) != `["paid"]` || pay.sent.Load() != 1 {
		t.Errorf("output %s, sent %d times", c.Output(), pay.sent.Load())
	}

	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	const sees = `{"one":[{"call":"once","key":"u","unknown":true,"ignore":true}]}`
	for _, id := range []string{"u1", "u2"} {
		c := b.rest(b.start(w, id, sees))
		completed(t, c)
		checkDocument(t, c)
		if call := c.Step("one").Calls[0]; call.Outcome != "unknown" || call.Status != "unknown" || (id == "u2") != (call.Borrowed != "") {
			t.Errorf("%s: %+v", id, call)
		}
	}
	c = b.rest(b.start(w, "u3", `{"one":[{"call":"once","key":"u"}]}`))
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" || !strings.Contains(c.Reasons[0].Sentence, "has its business key") {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
	if pay.sent.Load() != 2 {
		t.Errorf("sent %d times", pay.sent.Load())
	}
}

// The power is cut at every boundary of two runs with one key: in the end there
// is one effect, and both have its receipt.
//
// Seen red with a receipt that does not settle the key.
func TestTwoRunsOfOneKeyWithThePowerCut(t *testing.T) {
	long(t)
	t.Parallel()
	for n := 1; ; n++ {
		r, tools := receivers(nil)
		b := setup(t, tools...)
		b.deploy(folder(t, "", `tools = ["keyed"]`))
		var mu sync.Mutex
		seen, reached := 0, false
		b.crashAt(func(e pawl.Event) bool {
			mu.Lock()
			defer mu.Unlock()
			switch e.Kind {
			case pawl.BeforeIntent, pawl.IntentDurable, pawl.Sent, pawl.Answered, pawl.ReceiptDurable, pawl.Claimed:
				seen++
			}
			reached = reached || seen == n
			return seen == n
		})
		b.reopen()
		w, err := b.engine.Workflow("test")
		if err != nil {
			t.Fatal(err)
		}
		const input = `{"one":[` + keyedRefund + `]}`
		for _, id := range []string{"r1", "r2"} {
			if run, err := pawl.Start(t.Context(), w, id, raw(input), nil); err == nil && id == "r1" {
				_, _ = run.Wait(t.Context(), time.Minute)
			}
		}
		b.crashAt(nil)
		b.reopen()
		if w, err = b.engine.Workflow("test"); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"r1", "r2"} {
			completed(t, b.rest(b.start(w, id, input)))
		}
		if len(r.effects) != 1 {
			t.Errorf("cut at %d: %v", n, r.effects)
		}
		if !reached {
			break
		}
	}
}

// Another process takes the key between the reading and the intent: nothing is
// sent, and the run goes on as after an interruption, and finds out.
//
// Seen red with an intent that requires nothing, and with a run that is left
// where it was.
func TestAnotherProcessTakesTheBusinessKey(t *testing.T) {
	t.Parallel()
	var pay counter
	b := setup(t, pay.tool("keyed", host.Contract{Effect: host.Keyed}, nil))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	completed(t, b.rest(b.start(w, "r1", `{"one":[`+keyedRefund+`]}`)))
	taken := &rival{}
	b.wrap = func(s kv.Store) kv.Store { taken.Store = s; return taken }
	b.reopen()
	taken.hide(t)
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	c := b.rest(b.start(w, "r2", `{"one":[`+keyedRefund+`]}`))
	completed(t, c)
	if pay.sent.Load() != 1 || c.Step("one").Calls[0].Borrowed == "" || c.Budgets.Recoveries.Used != 0 {
		t.Errorf("sent %d times, %+v", pay.sent.Load(), c.Step("one").Calls[0])
	}
}

// rival is a store on which the record of a business key comes back right
// before the first intent that has found none.
type rival struct {
	kv.Store
	key, value []byte
}

// hide takes the one business key away.
func (r *rival) hide(t *testing.T) {
	t.Helper()
	batch := new(kv.Batch)
	for key, value := range keysOf(t, r.Store) {
		if strings.HasPrefix(key, "b/") {
			r.key, r.value = []byte(key), []byte(value)
			batch.Delete(r.key)
		}
	}
	if err := r.Store.Commit(batch).Wait(t.Context()); err != nil || r.key == nil {
		t.Fatal(err)
	}
}

func (r *rival) Commit(b *kv.Batch) kv.Pending {
	for _, req := range b.Requirements {
		if r.key != nil && string(req.Key) == string(r.key) {
			batch := new(kv.Batch)
			batch.Set(r.key, r.value)
			r.key = nil
			_ = r.Store.Commit(batch).Wait(context.Background())
		}
	}
	return r.Store.Commit(b)
}

// The receipt of one run does not land: another that waited for it is not in
// trouble for that, and waits on until the first has found out.
//
// Seen red with the first run's error taken for the second's.
func TestReceiptThatDoesNotLandIsNotTheNextRunsTrouble(t *testing.T) {
	t.Parallel()
	letGo := make(chan struct{})
	var pay counter
	b := setup(t, pay.tool("keyed", host.Contract{Effect: host.Keyed}, func(n int64, _ *host.Call) (any, error) {
		if n == 1 {
			<-letGo
		}
		return "paid", nil
	}))
	b.wrap = func(s kv.Store) kv.Store { return &losing{Store: s} }
	b.reopen()
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	first := b.start(w, "r1", `{"one":[`+keyedRefund+`]}`)
	eventually(t, func() bool { return pay.sent.Load() == 1 })
	second := b.start(w, "r2", `{"one":[`+keyedRefund+`]}`)
	b.waits(second, "key")
	close(letGo)
	if _, err := first.Wait(t.Context(), 0); err == nil {
		t.Error("the receipt landed")
	}
	b.waits(second, "key")
	completed(t, b.resume("r1"))
	completed(t, b.rest(second))
	if pay.distinctKeys() != 1 {
		t.Errorf("%d keys", pay.distinctKeys())
	}
}

// losing is a store that does not take the first receipt under a business key.
type losing struct {
	kv.Store
	lost atomic.Bool
}

func (l *losing) Commit(b *kv.Batch) kv.Pending {
	takes := false
	for _, r := range b.Requirements {
		takes = takes || strings.HasPrefix(string(r.Key), "b/")
	}
	for _, c := range b.Changes {
		if strings.HasPrefix(string(c.Key), "b/") && !takes && !l.lost.Swap(true) {
			b.Require([]byte("b/none"), []byte("none"))
			break
		}
	}
	return l.Store.Commit(b)
}
