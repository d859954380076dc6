package keys_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A campaign is
//
//	go test ./runtime/proof/keys -args -ways 36 -again 40
var (
	some  = flag.Int("ways", 1, "of 36 ways to meet, how many are tried with a cut at each boundary")
	again = flag.Int("again", 1, "how many boundaries of the second process are tried for a second cut")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// way is how two runs with one key meet, and how they go on.
type way struct {
	second  string // when the second run begins: after, beside, later
	order   string // of going on: "12", "21", "both"
	survive string // of what nobody was told to be durable: nothing, all
	down    time.Duration
}

func ways() (list []way) {
	for _, down := range []time.Duration{0, 72 * time.Hour} {
		for _, survive := range []string{"nothing", "all"} {
			for _, order := range []string{"12", "21", "both"} {
				for _, second := range []string{"after", "beside", "later"} {
					list = append(list, way{second, order, survive, down})
				}
			}
		}
	}
	return list
}

// shape is a tool and what becomes of its first request.
type shape struct {
	class    host.Class
	verifies bool
	first    first
}

// decided reports whether a person may be needed: what nobody knows must not be
// repeated, or has been repeated as often as it may be, and nobody can be asked.
// What can be asked about and is found absent is not repeated for once, nor where
// the receiver may have forgotten it.
func (s shape) decided(w way) bool {
	return s.class == host.Once || s.class == host.Keyed && (w.down > 0 || !s.verifies && s.first == isTurned)
}

func shapes() (list []shape) {
	for _, f := range []first{isApplied, isRejected, isTurned, losesIt, losesReply, isPanicked} {
		list = append(list, shape{host.Keyed, false, f}, shape{host.Keyed, true, f}, shape{host.Verify, true, f}, shape{host.Once, false, f}, shape{host.Once, true, f})
	}
	return list
}

// Two runs pay under one key, and the power is cut, or the process killed, at
// every boundary of either: before, beside and after each other, whoever goes on
// first, within the time for which the receiver knows the key and after it. The
// receiver has one effect in the end. Nobody waits for what cannot come: a run
// ends, or a person is asked about it, or it waits for the one that a person is
// asked about.
//
// Seen red with keys of one run only, with a key that is free while its call is
// open, with one that stays free for good, and with a wait whose next look nobody
// is told of.
func TestTwoRunsOfOneKeyCutAtEveryBoundary(t *testing.T) {
	t.Parallel()
	met := &tally{counts: map[string]int{}}
	t.Run("shapes", func(t *testing.T) {
		for i, s := range shapes() {
			t.Run(fmt.Sprintf("%s, verifies %v, %s", s.class, s.verifies, s.first), func(t *testing.T) {
				t.Parallel()
				for n := 1; s.boundary(t, n, i, met); n++ {
				}
			})
		}
	})
	t.Log(met)
	must := []string{
		"cut at started", "cut at begun", "cut at before_intent", "cut at intent_durable", "cut at sent", "cut at answered", "cut at receipt_durable",
		"cut at returned", "cut at checkpoint_durable", "cut twice", "effect", "receipt", "borrowed", "rejected", "not_applied", "asked", "waits for the asked",
	}
	if *some >= 4 {
		must = append(must, "cut at retrying", "cut at asked", "cut at claimed", "cut at waiting", "cut at parked")
	}
	for _, what := range must {
		if met.counts[what] == 0 && !t.Failed() {
			t.Errorf("never met: %s", what)
		}
	}
}

// tally counts what was met.
type tally struct {
	mu     sync.Mutex // guards counts
	counts map[string]int
}

func (m *tally) add(what string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what] += n
}

func (m *tally) String() string { return fmt.Sprint(m.counts) }

// boundary tries some ways with a cut at the n-th boundary, and reports whether
// any of them came so far.
func (s shape) boundary(t *testing.T, n, turn int, met *tally) (reached bool) {
	all := ways()
	for i := range min(*some, len(all)) {
		how := all[(n*5+turn*7+i*11)%len(all)] // neither divides their number
		reached = s.meet(t, how, n, 0, met) || reached
		for m := range *again {
			if i > 0 || *again == 1 && n%3 > 0 || !s.meet(t, how, n, 1+(m+n)%max(20, *again), met) && *again > 1 {
				break
			}
		}
	}
	return reached && !t.Failed()
}

// meet has the two runs meet, with a cut at the n-th boundary of their first
// process and, if m is more than 0, at the m-th of their second. It reports
// whether the last of these came.
func (s shape) meet(t *testing.T, how way, n, m int, met *tally) (came bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &books{class: s.class, first: s.first, known: map[host.Key]time.Time{}}
		tools, err := host.NewRegistry(b.tool(s.verifies))
		if err != nil {
			t.Fatal(err)
		}
		survive := func(int) int { return 0 }
		if how.survive == "all" {
			survive = func(n int) int { return n }
		}
		w := &world{t, kvtest.NewDisk(&kvtest.DiskOptions{Survive: survive}), tools}
		at := w.life(n, func(p *process) { how.meeting(t, p) })
		met.add("cut at "+string(at), 1)
		came = at != ""
		time.Sleep(how.down)
		if m > 0 {
			at = w.life(m, func(p *process) { how.goingOn(t, p) })
			if came = came && at != ""; came {
				met.add("cut twice", 1)
			}
			time.Sleep(how.down)
		}
		w.life(0, func(p *process) {
			if rests := how.goingOn(t, p); len(rests) == 2 {
				s.judge(t, how, b, rests, met)
			} else {
				t.Errorf("without a cut, only %d of two rest", len(rests))
			}
			if t.Failed() {
				t.Logf("%+v, cut at %d and %d (%s): %s", how, n, m, at, b)
			}
		})
	})
	return came
}

// soon is less than what lies between two looks at a key that another run has:
// who waits for that counts as at rest.
const soon = time.Minute

// meeting is what the two do in their first process. The power may be cut at any
// time, so nothing here has to come to anything.
func (w way) meeting(t *testing.T, p *process) {
	first := p.begin(t, "r1")
	if first == nil {
		return
	}
	if w.second == "after" {
		_, _ = patiently(t, first)
	}
	if w.second != "later" {
		if second := p.begin(t, "r2"); second != nil {
			_, _ = patiently(t, second)
		}
	}
	_, _ = patiently(t, first)
	time.Sleep(10 * time.Minute) // who waits for the other looks again
}

// goingOn has both go on, and returns how they rest long afterwards.
func (w way) goingOn(t *testing.T, p *process) (rests []*pawl.Checkpoint) {
	ids := map[string][]string{"12": {"r1", "r2"}, "21": {"r2", "r1"}, "both": {"r1", "r2"}}[w.order]
	runs := map[string]*pawl.Run{}
	for _, id := range ids {
		r := p.goOn(t, id)
		if r == nil {
			return nil
		}
		runs[id] = r
		if w.order == "both" {
			continue
		}
		if _, err := patiently(t, r); err != nil {
			return nil
		}
	}
	time.Sleep(10 * time.Minute)
	for _, id := range []string{"r1", "r2"} {
		c, err := patiently(t, runs[id])
		if err != nil {
			return nil
		}
		rests = append(rests, c)
	}
	return rests
}

// patiently waits until a run rests, which it must do within a day.
func patiently(t *testing.T, r *pawl.Run) (*pawl.Checkpoint, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	c, err := r.Wait(ctx, soon)
	if ctx.Err() != nil {
		c, _ = r.Checkpoint()
		t.Errorf("a run does not come to rest: %+v", c)
	}
	return c, err
}

// judge compares what came of the two with the receiver's books.
func (s shape) judge(t *testing.T, how way, b *books, rests []*pawl.Checkpoint, met *tally) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.effects) > 1 {
		t.Errorf("%d effects of one business key: %v", len(b.effects), b.effects)
	}
	met.add("effect", len(b.effects))
	asked, waits, completed, received := 0, 0, 0, 0
	for _, c := range rests {
		switch {
		case c.State == pawl.StateCompleted:
			completed++
			call := c.Steps[0].Calls[0]
			met.add(string(call.Outcome), 1)
			if call.Borrowed != "" {
				met.add("borrowed", 1)
			}
			if call.Status == "ok" {
				received++
			} else if s.first != isRejected && s.first != isTurned {
				t.Errorf("%s ended with %s: %s", c.ExternalID, call.Status, call.Code)
			}
		case c.State == pawl.StateNeedsDecision && c.Reasons[0].Code == "unknown":
			asked++
		case c.State == pawl.StateWaiting && c.Reasons[0].Code == "key" && strings.HasPrefix(c.Reasons[0].Waker, "run "):
			waits++
		default:
			t.Errorf("%s: %s %+v %+v", c.ExternalID, c.State, c.Reasons, c.LastError)
		}
	}
	met.add("receipt", received)
	met.add("asked", asked)
	met.add("waits for the asked", waits)
	switch {
	case asked > 0 && !s.decided(how):
		t.Errorf("a person is asked, though the machine can find out")
	case waits > 0 && asked == 0:
		t.Errorf("%d wait, and nobody is asked", waits)
	case received > 0 && len(b.effects) != 1:
		t.Errorf("%d have a receipt of %d effects", received, len(b.effects))
	case completed == 2 && received == 0:
		t.Errorf("both have ended and nothing has happened")
	}
}
