package runtime_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Two hundred are
//
//	go test -run TestKilledAtRandom -timeout 1h ./runtime -kills 200
var kills = flag.Int("kills", 2, "how many runs are killed at random moments")

// delayed is a store in which every record takes a random time to be written.
type delayed struct {
	kv.Store
	longest time.Duration
}

func (d delayed) Commit(b *kv.Batch) kv.Pending {
	time.Sleep(rand.N(d.longest))
	return d.Store.Commit(b)
}

// A run whose records are written with random delays, in a process that is
// killed between any two of them, again and again, comes to the same end: equal
// output, each effect once, completed steps not repeated.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	const ticket = "../examples/refund/tickets/t3.json"
	clean := newWorld(t, "").refund(nil)
	want := clean.start(clean.read(ticket), nil).end().After
	completed(t, want)
	effects := effectsOf(clean)
	for i := range *kills {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := newWorld(t, "").refund(nil)
			slowly := func(k *task) { k.Delay = 20 * time.Millisecond }
			p := w.start(w.read(ticket), slowly)
			killed := 0
			for time.Sleep(rand.N(time.Second)); p.killed() && killed < 3; time.Sleep(rand.N(time.Second)) {
				killed++
				p = w.start(w.read(ticket), slowly) // finds the run, if there is one already
			}
			out := w.start(w.read(ticket), nil).end()
			if out.Error != "" {
				t.Fatal(out.Error)
			}
			completed(t, out.After)
			if string(out.After.Output()) != string(want.Output()) {
				t.Errorf("output %s, want %s", out.After.Output(), want.Output())
			}
			if b := out.After.Budgets; b.Recoveries.Used > int64(killed)+1 || b.Attempts.Used != want.Budgets.Attempts.Used {
				t.Errorf("killed %d times: %+v", killed, b)
			}
			if got := effectsOf(w); !maps.Equal(got, effects) {
				t.Errorf("effects %v, want %v", got, effects)
			}
			// What a kill costs is the call that it cut off, if it cut one off.
			if used, want := out.After.Budgets.Calls.Used, want.Budgets.Calls.Used; used < want || used > want+int64(killed)+1 {
				t.Errorf("killed %d times: %d calls, want %d", killed, used, want)
			}
			for _, st := range out.After.Steps {
				if st.Attempts != 1 {
					t.Errorf("step %s: %d attempts", st.Name, st.Attempts)
				}
			}
		})
	}
}

// effectsOf counts the effects at the receivers, by tool.
func effectsOf(w *world) map[string]int {
	n := map[string]int{}
	for _, l := range w.lines() {
		if l.Kind == "effect" {
			n[l.Tool]++
		}
	}
	return n
}

// A run that was killed in its last step: with recovery it goes on at the call
// where it was, without it is shown as interrupted and nothing is executed.
//
// Seen red with an engine that recovers all the same.
func TestRestartWithAndWithoutRecovery(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "").refund(nil)
	p := w.start(w.read("../examples/refund/tickets/t3.json"), func(k *task) { k.Hold, k.HoldTool = pawl.Sent, "mail.send" })
	p.reached()
	p.kill()
	before := len(w.lines())
	sent := map[string]int{}
	for _, tool := range []string{"tickets.claim", "orders.hold", "pay.refund"} {
		_, sent[tool] = w.ledger(tool)
	}
	c := w.document()
	if c.State != pawl.StateInterrupted || c.ResumeFrom != "send" || len(c.CompletedSteps) != 3 || len(w.lines()) != before {
		t.Errorf("state %s at %s, %q, %d lines", c.State, c.ResumeFrom, c.CompletedSteps, len(w.lines())-before)
	}
	out := w.op("recover", nil).end()
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	completed(t, out.After)
	for tool, want := range map[string]int{"tickets.claim": 1, "orders.hold": 1, "pay.refund": 2, "mail.send": 1} {
		effects, requests := w.ledger(tool)
		if was, before := sent[tool]; effects != want || (before && requests != was) {
			t.Errorf("%s: %d effects, sent %d times, before %d", tool, effects, requests, was)
		}
	}
}

// Runs that finish at the same moment: each has its receipt. The race detector
// sees what they share.
func TestManyRunsFinishAtOnce(t *testing.T) {
	t.Parallel()
	const runs = 32
	var arrived atomic.Int64
	release := make(chan struct{})
	keyed := host.Contract{Effect: host.Keyed}
	b := setup(t, new(counter).tool("keyed", keyed, func(n int64, _ *host.Call) (any, error) {
		if arrived.Add(1) == runs {
			close(release)
		}
		<-release
		return n, nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	var all sync.WaitGroup
	seen := make([]string, runs)
	for i := range runs {
		all.Go(func() {
			r, err := pawl.Start(t.Context(), w, fmt.Sprintf("r%d", i), raw(`{"one":[{"call":"keyed"}]}`), nil)
			if err != nil {
				t.Error(err)
				return
			}
			c := b.rest(r)
			if c.State != pawl.StateCompleted || len(c.Steps[0].Calls) != 1 || c.Steps[0].Calls[0].Receipt == nil {
				t.Errorf("run %d: state %s, %+v", i, c.State, c.Steps[0].Calls)
				return
			}
			seen[i] = string(c.Steps[0].Calls[0].Receipt.Response)
		})
	}
	all.Wait()
	different := map[string]bool{}
	for _, s := range seen {
		different[s] = true
	}
	if len(different) != runs || arrived.Load() != runs {
		t.Errorf("%d different receipts of %d effects", len(different), arrived.Load())
	}
	b.reopen()
	for i, was := range seen {
		if got := string(b.document(fmt.Sprintf("r%d", i)).Step("one").Calls[0].Receipt.Response); got != was {
			t.Errorf("run %d: the next process reads %s, it was %s", i, got, was)
		}
	}
}

// A large input and fifty calls whose answers are equal: each payload is stored
// once, by its hash.
//
// Seen red with payloads that are kept in their records.
func TestEqualPayloadsAreStoredOnce(t *testing.T) {
	long(t)
	t.Parallel()
	answer := make([]byte, 20_000)
	for i := range answer {
		answer[i] = 'a' + byte(i%26)
	}
	b := setup(t, new(counter).tool("keyed", host.Contract{Effect: host.Keyed}, func(int64, *host.Call) (any, error) {
		return string(answer), nil
	}))
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	do := ""
	for i := range 50 {
		do += fmt.Sprintf(`{"call":"keyed","request":{"n":%d},"drop":true},`, i)
	}
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = 'a' + byte(rand.N(26))
	}
	r := b.start(w, "r1", fmt.Sprintf(`{"one":[%s],"shared":%q}`, do[:len(do)-1], large))
	completed(t, b.rest(r))
	size := 0
	for key, value := range keysOf(t, b.store) {
		if len(key) > 2 && key[:2] == "r/" {
			size += len(key) + len(value)
		}
	}
	t.Logf("%d bytes", size)
	if size > 3<<19 {
		t.Errorf("the run takes %d bytes", size)
	}
}

// A listing that cannot be read says nothing against its run: that goes on, and
// so do the others; a check names it.
//
// Seen red with a recovery that ends at it.
func TestListingThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var flaky counter
	b := setup(t, downOnce(&flaky, host.Contract{Effect: host.Read}))
	bad := waiting(t, b)
	batch := new(kv.Batch)
	batch.Set([]byte("o/"+bad.ID()), []byte("?"))
	commit(t, b.store.Commit(batch))
	if err := b.engine.Check(); err == nil {
		t.Error("nothing is found")
	}
	b.reopen()
	if h := b.engine.Health(); h.Open != 1 || h.Waiting != 1 || h.Recovery.Waiting != 1 {
		t.Errorf("%+v, %+v", h, h.Recovery)
	}
	completed(t, b.resume("r1"))
}
