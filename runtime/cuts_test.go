package runtime_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

var (
	powerRuns = flag.Int("power.runs", defaultPowerRuns, "how many random workflows have their power cut")
	powerSeed = flag.Uint64("power.seed", 0, "the first seed; a failure names its own")
)

const (
	runsPerDisk = 40 // side by side, so that they share commits
	mostCuts    = 6
)

// Random workflows on a store that loses what is not durable when its power is
// cut, at random places between and within commits, until all have completed:
// no receiver ever saw an effect whose intent is not durable, nor one again
// whose receipt is; an effect happens twice only where its outcome was unknown
// and its class repeats it; outputs and budgets are what they would be without
// cuts, plus exactly what the cuts cost.
//
// Seen red with the intent's barrier removed.
func TestRandomWorkflowsAndCuts(t *testing.T) {
	t.Parallel()
	if _, err := script(); err != nil { // a process, which a bubble cannot wait for
		t.Fatal(err)
	}
	var cuts, completed int
	for n := range (*powerRuns + runsPerDisk - 1) / runsPerDisk {
		seed := *powerSeed + uint64(n)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBlackout(t, seed)
				b.play()
				cuts += b.cuts
				completed += b.completed
			})
		})
	}
	if t.Logf("%d cuts, %d runs completed", cuts, completed); cuts == 0 || completed == 0 {
		t.Error("nothing was tried")
	}
}

// blackout is one disk, the runs on it, and receivers that have power of their
// own.
type blackout struct {
	*testing.T
	random *rand.Rand
	disk   *kvtest.Disk
	books  *books
	tools  *host.Registry
	steps  int
	runs   []*randomRun
	cuts   int // that came, by plan
	engine *pawl.Engine

	completed int
}

// randomRun is a run and what must come of it.
type randomRun struct {
	id     string
	ops    [][]callOp // by step
	told   bool       // its start was acknowledged
	before *pawl.Checkpoint
	ended  json.RawMessage // its output, once somebody was told
	run    string
	open   map[string]int // by key: how many cuts left the call open
	tries  map[string]int // by key: as it was last seen
}

// callOp is one call of a step.
type callOp struct {
	Call    string         `json:"call"`
	Request map[string]int `json:"request"`
}

func newBlackout(t *testing.T, seed uint64) *blackout {
	random := rand.New(rand.NewPCG(seed, 1))
	b := &blackout{
		T: t, random: random, disk: kvtest.NewDisk(&kvtest.DiskOptions{Seed: seed}),
		books: newBooks(), steps: 1 + random.IntN(4),
	}
	var err error
	if b.tools, err = host.NewRegistry(b.books.tools()...); err != nil {
		t.Fatal(err)
	}
	for i := range runsPerDisk {
		b.runs = append(b.runs, b.randomRun(i))
	}
	return b
}

func (b *blackout) randomRun(n int) *randomRun {
	r := &randomRun{id: fmt.Sprint("r", n), open: map[string]int{}, tries: map[string]int{}}
	for range b.steps {
		ops := []callOp{}
		for range b.random.IntN(6) {
			call := []string{"read", "read", "keyed", "keyed", "keyed", "asked", "asked", "asked", "charged", "charged", "once"}[b.random.IntN(11)]
			ops = append(ops, callOp{call, map[string]int{"n": b.random.IntN(3)}})
		}
		r.ops = append(r.ops, ops)
	}
	return r
}

func (r *randomRun) input() json.RawMessage {
	in := map[string][]callOp{}
	for i, ops := range r.ops {
		in[[]string{"one", "two", "three", "four"}[i]] = ops
	}
	text, _ := json.Marshal(in)
	return text
}

// output is what the last step returns: the answers of its calls.
func (r *randomRun) output() json.RawMessage {
	out := []any{}
	for _, op := range r.ops[len(r.ops)-1] {
		out = append(out, answerTo(op.Request["n"]))
	}
	text, _ := json.Marshal(out)
	return text
}

func answerTo(n int) any { return map[string]int{"of": n} }

// play cuts the power again and again, and then lets the runs come to their end.
func (b *blackout) play() {
	for range mostCuts {
		b.live(true)
	}
	b.live(false)
}

// live is one life of the engine, up to a cut if there is to be one.
func (b *blackout) live(cut bool) {
	store, err := b.disk.Open()
	if err != nil {
		b.Fatal(err)
	}
	if b.engine, err = pawl.Open(b.Context(), store, &pawl.Options{Tools: b.tools, CacheDir: cacheDir(), NoRecovery: true}); err != nil {
		b.Fatal(err)
	}
	w := b.workflow()
	for _, id := range b.books.runs() {
		if _, err := b.engine.Find(id); err != nil {
			b.Errorf("something was sent for run %s, which is gone: %v", id, err)
		}
	}
	for _, r := range b.runs {
		b.look(r)
	}
	if cut {
		b.plan()
	}
	for _, r := range b.runs {
		// A client that asks again: what is there goes on.
		if _, err := pawl.Start(b.Context(), w, r.id, r.input(), nil); err == nil {
			r.told = true
		} else if !cut {
			b.Fatal(err)
		}
	}
	for _, r := range b.runs {
		if run, err := b.engine.Find(r.id); err == nil {
			c, err := run.Wait(b.Context(), time.Hour)
			if err == nil && c.State == pawl.StateCompleted {
				r.ended = c.Output()
			}
		}
	}
	if cut {
		b.disk.Cut()
	} else {
		b.end()
	}
	if err := b.engine.Close(); err != nil && !cut {
		b.Error(err)
	}
	if err := store.Close(); err != nil && !cut {
		b.Error(err)
	}
}

// end checks everything when no run moves any more.
func (b *blackout) end() {
	for _, r := range b.runs {
		run, err := b.engine.Find(r.id)
		if err != nil {
			b.Fatal(err)
		}
		c, err := run.Checkpoint()
		if err != nil {
			b.Fatal(err)
		}
		b.settled(r, c)
	}
	if err := b.engine.Check(); err != nil {
		b.Errorf("the store is not sound: %v", err)
	}
}

// workflow deploys it in the first life, before there is a cut.
func (b *blackout) workflow() *pawl.Workflow {
	if w, err := b.engine.Workflow("test"); err == nil {
		return w
	}
	var tables []string
	for range b.steps {
		tables = append(tables, `tools = ["read", "keyed", "asked", "charged", "once"]`)
	}
	w, err := b.engine.Deploy(b.Context(), folder(b.T, "[budget]\nrecoveries = 1000\nunits = { tokens = 100000 }", tables...))
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// plan places the cut: in one of the next commits, or at a receiver.
func (b *blackout) plan() {
	cut := func() { b.cuts++; b.disk.Cut() }
	if b.random.IntN(3) == 0 {
		b.books.cutAt(1+b.random.IntN(60), b.random.IntN(2) == 0, cut)
		return
	}
	b.books.cutAt(0, false, nil)
	moment := []kvtest.Moment{kvtest.Asked, kvtest.Written, kvtest.Synced}[b.random.IntN(3)]
	b.disk.At(1+b.random.IntN(100), moment, func() error { cut(); return nil })
}

// look compares what is durable with what the receivers know, when nobody
// executes the run.
func (b *blackout) look(r *randomRun) {
	run, err := b.engine.Find(r.id)
	if err != nil {
		if r.told {
			b.Fatalf("%s: its start was told, and it is gone: %v", r.id, err)
		}
		return
	}
	r.run = run.ID()
	c, err := run.Checkpoint()
	if err != nil {
		b.Fatal(err)
	}
	if r.ended != nil && !bytes.Equal(r.ended, c.Output()) {
		b.Errorf("%s: output %s was told, now it is %s with %s", r.id, r.ended, c.State, c.Output())
	}
	b.recovered(r, c)
	calls := map[string]*pawl.CallCheckpoint{}
	for i := range c.Steps {
		for j := range c.Steps[i].Calls {
			call := &c.Steps[i].Calls[j]
			calls[call.Key] = call
			b.left(r, call)
		}
	}
	for _, e := range b.books.of(r.run) {
		if call := calls[e.key]; call == nil && e.tool != "read" {
			b.Errorf("%s: %s was sent with key %s, which no durable intent has", r.id, e.tool, e.key)
		}
	}
	r.before = c
}

// recovered checks what the entries since the last look have cost.
func (b *blackout) recovered(r *randomRun, c *pawl.Checkpoint) {
	if r.before == nil {
		return
	}
	was, is := r.before.Budgets.Recoveries.Used, c.Budgets.Recoveries.Used
	most := was
	if r.before.State == pawl.StateInterrupted {
		most++
	}
	if is < was || is > most {
		b.Errorf("%s: %d recoveries, %d before; it was %s", r.id, is, was, r.before.State)
	}
	if c.Seq < r.before.Seq {
		b.Errorf("%s: seq %d after %d", r.id, c.Seq, r.before.Seq)
	}
}

// left takes note of a call as a cut left it.
func (b *blackout) left(r *randomRun, call *pawl.CallCheckpoint) {
	e := b.books.entry(r.run, call.Key)
	if e.closed && e.applied != e.atClose {
		b.Errorf("%s: %s with key %s was sent again after its receipt was durable", r.id, call.Tool, call.Key)
	}
	most := max(1, r.tries[call.Key])
	if r.before != nil && r.open[call.Key] > 0 {
		most++ // by the entry that found it open
	}
	if was := r.tries[call.Key]; call.Tries < was || call.Tries > most {
		b.Errorf("%s: %s with key %s has %d tries, had %d before", r.id, call.Tool, call.Key, call.Tries, was)
	}
	r.tries[call.Key] = call.Tries
	if call.Receipt != nil {
		b.books.close(r.run, call.Key)
		return
	}
	r.open[call.Key]++
}

// settled checks a run that has come to its end.
func (b *blackout) settled(r *randomRun, c *pawl.Checkpoint) {
	var once bool
	var calls, tokens int64
	for i, ops := range r.ops {
		for j, op := range ops {
			if i >= len(c.Steps) || j >= len(c.Steps[i].Calls) {
				continue
			}
			call := c.Steps[i].Calls[j]
			b.left(r, &call)
			b.happened(r, op, &call)
			calls += int64(call.Tries)
			if op.Call == "charged" && call.Receipt != nil {
				tokens += 3
			}
			once = once || op.Call == "once" && call.Receipt == nil
		}
	}
	if used := c.Budgets.Calls.Used; used != calls {
		b.Errorf("%s: %d calls charged, want %d", r.id, used, calls)
	}
	if used := c.Budgets.Units["tokens"].Used; used != tokens {
		b.Errorf("%s: %d tokens, want %d", r.id, used, tokens)
	}
	if once { // nobody can say what became of it
		if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" {
			b.Errorf("%s: %s, %+v, with a call of class once that a cut left open", r.id, c.State, c.Reasons)
		}
		return
	}
	b.completed++
	if c.State != pawl.StateCompleted || !equalJSON(c.Output(), r.output()) {
		b.Errorf("%s: %s with %s, want %s: %+v", r.id, c.State, c.Output(), r.output(), c.Reasons)
	}
	if used := c.Budgets.Attempts.Used; used != int64(b.steps) {
		b.Errorf("%s: %d attempts of %d steps", r.id, used, b.steps)
	}
}

// happened checks that an effect happened once, or was rightly made again.
func (b *blackout) happened(r *randomRun, op callOp, call *pawl.CallCheckpoint) {
	open := r.open[call.Key]
	if call.Tries > 1+open {
		b.Errorf("%s: %s with key %s has %d tries; cuts left it open %d times", r.id, op.Call, call.Key, call.Tries, open)
	}
	applied, most := b.books.entry(r.run, call.Key).applied, 1
	switch op.Call {
	case "keyed":
		most += open
	case "read", "charged":
		return
	}
	if applied > most || applied == 0 && call.Receipt != nil {
		b.Errorf("%s: %s with key %s was applied %d times; cuts left it open %d times", r.id, op.Call, call.Key, applied, open)
	}
}

func equalJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
