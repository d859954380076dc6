package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// receiver is what the tools of a claim scenario reach: an effect happens once
// per key, as at a receiver that keeps its promise.
type receiver struct {
	mu      sync.Mutex // guards what follows
	effects []string   // "tool request", in order
	keys    map[host.Key]bool
	asked   map[string]int // requests by "tool request"
	// down says how often a request is refused before it works.
	down map[string]int
}

// answer is what the receiver does with a request.
func (r *receiver) answer(tool string, class host.Class, c *host.Call, req map[string]any) (any, error) {
	text, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	name := strings.TrimSuffix(tool+" "+string(text), " {}")
	r.asked[name]++
	if r.asked[name] <= r.down[name] {
		return nil, host.NotApplied(errors.New("down"))
	}
	if class != host.Read && !r.keys[c.Key] {
		r.keys[c.Key] = true
		r.effects = append(r.effects, name)
	}
	return map[string]any{"n": r.asked[name]}, nil
}

func (r *receiver) tool(name string, contract host.Contract) host.Tool {
	return host.Func(name, func(_ context.Context, c *host.Call, req map[string]any) (any, error) {
		return r.answer(name, contract.Effect, c, req)
	}, &host.FuncOptions{Contract: contract})
}

// receivers makes a receiver and its tools.
func receivers(down map[string]int) (*receiver, []host.Tool) {
	r := &receiver{keys: map[host.Key]bool{}, asked: map[string]int{}, down: down}
	return r, []host.Tool{
		r.tool("flaky", host.Contract{Effect: host.Keyed, Tries: 1}), r.tool("keyed", host.Contract{Effect: host.Keyed, Tries: 1}),
		r.tool("once", host.Contract{Effect: host.Keyed, Tries: 1}), r.tool("read", host.Contract{Effect: host.Read, Tries: 1}),
		r.tool("charged", host.Contract{Effect: host.Read, Tries: 1, Units: []string{"tokens"}}),
	}
}

const claimTools = `tools = ["flaky", "keyed", "once", "read", "charged"]
retry = { attempts = 3, backoff = "1ms", max_backoff = "1ms" }`

// An attempt that goes another way gets the receipts of what the one before has
// done, in the order in which it was done, and what it does not come to is
// shown; also with the power cut before every call and every claim of the later
// attempts.
//
// Seen red with receipts that are not claimed, claimed in any order, claimed by
// tool alone, with the order of the first attempt alone, with outdated reads
// that are claimed, with paid ones that are not, with the unclaimed forgotten
// by the third attempt, and with orphans that nobody looks for.
func TestAttemptsThatGoAnotherWay(t *testing.T) {
	long(t)
	t.Parallel()
	set := func(x string) string { return `{"call":"keyed","request":{"x":"` + x + `"}}` }
	for _, row := range []struct {
		name    string
		down    map[string]int
		program string
		state   string // reason code, or the state without one
		effects string
		asked   map[string]int
		orphans string
		says    string
		cut     bool // also with the power cut
	}{
		{
			cut: true, name: "the first supplier fails, the fallback is paid, then the step fails; then the first works", down: map[string]int{"flaky": 1, "once": 1},
			program: `{"call":"flaky","ignore":true,"else":[` + set("fallback") + `]},{"call":"once"}`,
			state:   "orphan", effects: "keyed fallback, flaky, once", orphans: "keyed fallback of 1",
			says: "one has ended without keyed",
		}, {
			name: "the fallback is wanted again, and found paid", down: map[string]int{"read": 9, "once": 1},
			program: `{"call":"read","ignore":true,"else":[` + set("fallback") + `]},{"call":"once"}`,
			state:   "completed", effects: "keyed fallback, once", asked: map[string]int{`keyed fallback`: 1},
		}, {
			cut: true, name: "what was done in one order is wanted in another", down: map[string]int{"flaky": 1},
			program: `{"call":"flaky","ignore":true,"else":[` + set("1") + `,` + set("2") + `,{"error":"x"}]},` + set("2") + `,` + set("1"),
			state:   "diverged", effects: "keyed 1, keyed 2, flaky", says: "which came before keyed",
		}, {
			name: "what was done in one order is wanted in it", down: map[string]int{"flaky": 1},
			program: `{"call":"flaky","ignore":true,"else":[` + set("1") + `,` + set("2") + `,{"error":"x"}]},` + set("1") + `,` + set("2"),
			state:   "completed", effects: "keyed 1, keyed 2, flaky", asked: map[string]int{`keyed 1`: 1, `keyed 2`: 1},
		}, {
			name: "one of the two is enough now", down: map[string]int{"flaky": 1},
			program: `{"call":"flaky","ignore":true,"else":[` + set("1") + `,` + set("2") + `,{"error":"x"}]},` + set("2"),
			state:   "orphan", effects: "keyed 1, keyed 2, flaky", orphans: "keyed 1 of 1",
		}, {
			name: "the same thing twice is two effects, and one of them is enough now", down: map[string]int{"flaky": 1},
			program: `{"call":"flaky","ignore":true,"else":[` + set("1") + `,` + set("1") + `,{"error":"x"}]},` + set("1"),
			state:   "orphan", effects: "keyed 1, keyed 1, flaky", asked: map[string]int{`keyed 1`: 2}, orphans: "keyed 1 of 1",
		}, {
			cut: true, name: "two come up one after the other, and the third attempt finds what both did", down: map[string]int{"read": 2, "flaky": 1, "once": 2},
			program: `{"call":"read","ignore":true},{"call":"flaky","ignore":true},` + set("1") + `,{"call":"once"}`,
			state:   "completed", effects: "keyed 1, flaky, once", asked: map[string]int{`keyed 1`: 1, "flaky": 2, "read": 3},
		}, {
			cut: true, name: "left behind by the second attempt, claimed by the third", down: map[string]int{"read": 2, "flaky": 1, "once": 1},
			program: `{"call":"read","ignore":true},{"call":"flaky","ignore":true,"else":[` + set("1") + `]},{"call":"once"},` +
				`{"call":"read","request":{"again":"1"},"ignore":true,"else":[{"error":"x"}]},` + set("1"),
			state: "completed", effects: "keyed 1, flaky, once", asked: map[string]int{`keyed 1`: 1},
		}, {
			name: "a read from before a write that comes before it now", down: map[string]int{"flaky": 1, "once": 1},
			program: `{"call":"flaky","ignore":true},{"call":"read"},{"call":"charged"},{"call":"once"}`,
			state:   "completed", effects: "flaky, once", asked: map[string]int{"read": 2, "charged": 1},
		}, {
			name: "a read from after the write that comes before it", down: map[string]int{"read {\"a\":\"1\"}": 1, "once": 1},
			program: `{"call":"read","request":{"a":"1"},"ignore":true},` + set("1") + `,{"call":"read"},{"call":"once"}`,
			state:   "completed", effects: "keyed 1, once", asked: map[string]int{"read": 1},
		}, {
			name: "what did not work is made again behind another way", down: map[string]int{"flaky": 1, "once": 1},
			program: `{"call":"flaky","ignore":true,"else":[{"call":"once"}]},{"call":"once"}`,
			state:   "completed", effects: "flaky, once", asked: map[string]int{"once": 2},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for cut := 0; cut == 0 || row.cut; cut++ {
				r, tools := receivers(row.down)
				b := setup(t, tools...)
				c, reached := cutRun(b, folder(t, "", claimTools), `{"one":[`+row.program+`]}`, cut)
				if cut > 0 && !reached {
					if cut < 2 {
						t.Errorf("only %d boundaries", cut)
					}
					break
				}
				code := string(c.State)
				if len(c.Reasons) > 0 {
					code = c.Reasons[0].Code
				}
				effects := strings.NewReplacer(`{"x":"`, "", `"}`, "").Replace(strings.Join(r.effects, ", "))
				if code != row.state || effects != row.effects {
					t.Fatalf("cut at %d: %s: %+v, last error %+v, effects %s", cut, code, c.Reasons, c.LastError, effects)
				}
				if row.says != "" && !strings.Contains(c.Reasons[0].Sentence, row.says) {
					t.Errorf("says %q", c.Reasons[0].Sentence)
				}
				var orphans []string
				for _, o := range c.Orphans {
					var req struct{ X string }
					_ = json.Unmarshal(o.Request, &req)
					orphans = append(orphans, fmt.Sprintf("%s %s of %d", o.Tool, req.X, o.Attempt))
					if o.Step != "one" || o.Receipt == nil || o.Key == "" || o.Outcome != "applied" {
						t.Errorf("orphan %+v", o)
					}
				}
				if strings.Join(orphans, ", ") != row.orphans {
					t.Errorf("cut at %d: orphans %v", cut, orphans)
				}
				for name, n := range row.asked {
					if x, value, ok := strings.Cut(name, " "); ok {
						name = x + ` {"x":"` + value + `"}`
					}
					if cut == 0 && r.asked[name] != n {
						t.Errorf("%s: %d requests, want %d", name, r.asked[name], n)
					}
				}
			}
		})
	}
}

// cutRun runs the workflow with the power cut at the n-th call, claim or park of
// its second attempt and later, and goes on; 0 cuts nothing. reached says whether there was
// such a boundary.
func cutRun(b *bundle, f fstest.MapFS, input string, n int) (c *pawl.Checkpoint, reached bool) {
	b.t.Helper()
	b.deploy(f)
	seen := 0
	var mu sync.Mutex
	b.crashAt(func(e pawl.Event) bool {
		mu.Lock()
		defer mu.Unlock()
		if e.Attempt > 1 && slices.Contains([]pawl.EventKind{pawl.BeforeIntent, pawl.Claimed, pawl.Parked}, e.Kind) {
			seen++
			reached = reached || seen == n
		}
		return seen == n && n > 0
	})
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		b.t.Fatal(err)
	}
	r := b.start(w, "r1", input)
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	if c, err = r.Wait(ctx, 1<<62); err == nil {
		checkDocument(b.t, c)
		return c, reached
	}
	b.crashAt(nil)
	b.reopen()
	c = b.rest(b.find("r1"))
	checkDocument(b.t, c)
	return c, reached
}
