package power_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv/kvtest"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// world is one plan being carried out: the disk, the receivers, and one process
// after the other.
type world struct {
	plan    *Plan
	totals  *totals
	disk    *kvtest.Disk
	books   *books
	folders []fstest.MapFS
	runs    []*run
	start   time.Time

	// Used by the one who plays.
	processes int
	faulty    bool // the life under way has faults of the store
	deaths    int  // that are to be counted once it is known what they hit
	ends      int  // of processes and of their eras, since anything began

	mu     sync.Mutex // guards what follows
	alive  []*process
	timers []*time.Timer
	passed time.Duration
	wrong  []string
	diary  *strings.Builder // nil if nobody wants it
	other  map[string]bool  // runs that were told what the model does not expect
	last   End
}

// run is a run of the plan, and what is known of it.
type run struct {
	*Run
	ref    string // external id
	expect *outcome
	id     string // once it is known
	told   bool   // its start was acknowledged
	last   *pawl.Checkpoint
	// touched says that somebody may have resumed it since the last look.
	touched atomic.Bool
	steps   map[string]string // what is known of those completed
}

// longest is more than anything takes that is left alone.
const longest = 3 * time.Hour

// tooLong is more of the real time than a plan takes on any machine.
const tooLong = 3 * time.Minute

// carryOut carries the plan out in a bubble, and says what went wrong. In a
// bubble whose time stands still, as it does while somebody waits for a lock of
// somebody who waits for time to pass, nothing comes to an end: then it ends the
// program, and says who waits for what.
func (p *Plan) carryOut(t *testing.T, totals *totals, diary *strings.Builder) error {
	var w *world
	watch := time.AfterFunc(tooLong, func() {
		fmt.Fprintf(os.Stderr, "a plan does not end in %s, it is kept in %s\n%s", tooLong, p.keep(), busy())
		os.Exit(1)
	})
	defer watch.Stop()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(p, totals, diary)
		w.play()
		w.totals.passed(time.Since(w.start))
	})
	if len(w.wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(w.wrong, "\n"))
}

// busy are the stacks of the goroutines that keep the time of a bubble from
// passing.
func busy() string {
	all := make([]byte, 16<<20)
	all = all[:goruntime.Stack(all, true)]
	var found strings.Builder
	for stack := range strings.SplitSeq(string(all), "\n\n") {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, "synctest bubble") && !strings.Contains(head, "(durable)") {
			found.WriteString(stack + "\n\n")
		}
	}
	return found.String()
}

func newWorld(p *Plan, totals *totals, diary *strings.Builder) *world {
	w := &world{plan: p, totals: totals, start: time.Now(), diary: diary, other: map[string]bool{}}
	w.disk = kvtest.NewDisk(&kvtest.DiskOptions{Seed: p.Seed, Shared: p.Shared})
	w.books = newBooks(w)
	expected := make([]*outcome, len(p.Flows))
	for i := range p.Flows {
		w.folders = append(w.folders, p.Flows[i].folder(i))
		expected[i] = p.Flows[i].expect(i)
	}
	for i := range p.Runs {
		r := &p.Runs[i]
		w.runs = append(w.runs, &run{Run: r, ref: fmt.Sprint("r", i), expect: expected[r.Flow], steps: map[string]string{}})
	}
	return w
}

// play is everything that happens.
func (w *world) play() {
	for i := range w.plan.Lives {
		if w.live(i, &w.plan.Lives[i]); len(w.wrong) > 0 {
			return
		}
	}
	w.end()
}

// live is one life.
func (w *world) live(i int, l *Life) {
	p, err := w.open()
	if err != nil {
		w.fail("no process: %v", err)
		return
	}
	w.note(p, "BEGINS", fmt.Sprintf("%+v", *l))
	w.look(p)
	w.books.begin(l)
	w.faulty = len(l.Faults) > 0
	w.arm(p, l)
	w.rest(p, func() {
		w.begin(p, i)
		w.goOn(p, l.ByHand)
	})
	w.finish(p, l.End)
	w.totals.count("life " + string(l.End))
	w.sleep(l)
}

// arm plans what the life brings.
func (w *world) arm(p *process, l *Life) {
	p.plan(l.At, func() error {
		if l.End == Stop {
			p.once.Do(func() { close(p.ends) })
			return nil
		}
		w.totals.count("death at " + l.At.Where)
		w.die(p, l.End)
		return nil
	})
	for i := range l.Faults {
		w.fault(p, &l.Faults[i])
	}
}

var errFault = errors.New("a fault of the disk")

// fault plans one fault.
func (w *world) fault(p *process, f *Fault) {
	after := func(do func()) { w.after(seconds(f.For), do) }
	p.plan(f.At, func() error {
		w.totals.count("fault " + string(f.Kind))
		w.interrupted()
		w.note(p, "FAULT", string(f.Kind))
		switch f.Kind {
		case FailCommit:
		case FailRead:
			w.disk.FailRead(nil, errFault)
			return nil
		case Full:
			w.disk.Fill(true)
			after(func() { w.disk.Fill(false) })
			return nil
		case Unopenable:
			w.disk.FailOpen(errFault)
			after(func() { w.disk.FailOpen(nil) })
		case Stall:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.stalls = true
			return nil
		}
		switch f.At.Where {
		case AtAsked, AtWritten, AtSynced:
			return errFault
		}
		w.disk.At(1, kvtest.Written, func() error {
			if p.isDead() {
				return nil
			}
			return errFault
		})
		return nil
	})
}

// after does something in a while, in this life.
func (w *world) after(d time.Duration, do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timers = append(w.timers, time.AfterFunc(d, do))
}

// begin starts the runs of the life, and those of earlier ones whose start was
// not told: a client asks again.
func (w *world) begin(p *process, life int) {
	ctx, cancel := p.during()
	defer cancel()
	for _, r := range w.runs {
		if r.Life > life || r.told {
			continue
		}
		r.touched.Store(true)
		_, err := pawl.Start(ctx, p.flows[r.Flow], r.ref, json.RawMessage(`{}`), nil)
		w.note(p, "start", r.ref, fmt.Sprint(err))
		if err == nil {
			r.told = true
		} else if !w.faulty && p.living() {
			w.fail("%s: start: %v", r.ref, err)
		}
	}
}

// goOn lets the runs that are there go on.
func (w *world) goOn(p *process, byHand bool) {
	if !byHand {
		if err := p.Recover(context.Background()); err != nil && !w.faulty && p.living() {
			w.fail("recovery: %v", err)
		}
		return
	}
	for _, r := range w.runs {
		if h, err := p.Find(r.ref); err == nil {
			r.touched.Store(true)
			_ = h.Resume() // says why not
		}
	}
}

// living reports whether the process has not been told to end.
func (p *process) living() bool {
	select {
	case <-p.ends:
		return false
	default:
		return true
	}
}

// during is a context that ends with the process.
func (p *process) during() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-p.ends:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// rest does something and waits until no run moves any more, or the process
// ends.
func (w *world) rest(p *process, do func()) {
	rested := make(chan struct{})
	ctx, cancel := p.during()
	defer cancel()
	go func() {
		defer close(rested)
		do()
		for _, r := range w.runs {
			w.wait(ctx, p, r)
		}
	}()
	select {
	case <-rested:
		return
	case <-p.stalled:
	}
	second := w.takeOver(p)
	p.wake()
	<-rested
	if second != nil {
		w.rest(second, func() {})
	}
}

// wait waits until one run rests. A process that stands still, for as long as
// another one works, wakes nobody.
func (w *world) wait(ctx context.Context, p *process, r *run) {
	h, err := p.Find(r.ref)
	if err != nil {
		return
	}
	patience := func() (*pawl.Checkpoint, error) {
		ctx, cancel := context.WithTimeout(ctx, longest)
		defer cancel()
		return h.Wait(ctx, longest)
	}
	c, err := patience()
	select {
	case <-p.stalled:
		if errors.Is(err, context.DeadlineExceeded) {
			<-p.wakes
			c, err = patience()
		}
	default:
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		if c, err := h.Checkpoint(); err == nil && !w.waitsForKey(p, c) {
			w.fail("%s: nobody wakes it: %s %+v", r.ref, c.State, c.Reasons)
		}
	case errors.Is(err, pawl.ErrFenced):
		w.totals.count("fenced")
	case err == nil && p.living() && !w.faulty && !w.plan.Shared && (c.State == pawl.StateInterrupted || c.State == pawl.StateRunning):
		w.fail("%s: left as %s: %+v", r.ref, c.State, c.Reasons)
	}
}

// waitsForKey reports whether a run waits for another one's business key, which
// rightly does not move: it waits for a person, or as this one does.
func (w *world) waitsForKey(p *process, c *pawl.Checkpoint) bool {
	holder := keyHolder(p, c)
	return holder != nil && holder.State != pawl.StateCompleted
}

// waitsForAPerson reports whether a run waits for another one's business key at
// the end of everything: for a run that a person has to move, or that waits for
// one. A circle has no such end.
func (w *world) waitsForAPerson(p *process, c *pawl.Checkpoint) bool {
	for range w.runs {
		if c = keyHolder(p, c); c == nil {
			return false
		}
		if c.State == pawl.StateNeedsDecision || c.State == pawl.StateFailed {
			return true
		}
	}
	return false
}

// keyHolder is the run whose business key a run waits for; nil if it waits for
// none.
func keyHolder(p *process, c *pawl.Checkpoint) *pawl.Checkpoint {
	if c.State != pawl.StateWaiting || c.Reasons[0].Code != "key" {
		return nil
	}
	h, err := p.Find(strings.TrimPrefix(c.Reasons[0].Waker, "run "))
	if err != nil {
		return nil
	}
	holder, err := h.Checkpoint()
	if err != nil {
		return nil
	}
	return holder
}

// detour takes note that a step was told "not applied" by bad luck: none of its
// call's tries was sent in time, or reached the receiver. It may go on in a way
// that the model does not know.
func (w *world) detour(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.other[run] = true
}

// takeOver has another process take the runs of one that stands still.
func (w *world) takeOver(p *process) *process {
	if !w.plan.Shared {
		time.Sleep(2 * time.Minute)
		return nil
	}
	w.totals.count("stalled")
	w.interrupted()
	time.Sleep(5 * time.Minute) // leases and the time of calls
	if !p.living() {
		return nil
	}
	second, err := w.open()
	if err != nil {
		if p.living() && !w.faulty {
			w.fail("no second process: %v", err)
		}
		return nil
	}
	w.note(second, "TAKES OVER")
	w.rest(second, func() {
		for _, r := range w.runs {
			h, err := second.Find(r.ref)
			if err != nil {
				continue
			}
			r.touched.Store(true)
			if err := h.Resume(); err == nil {
				w.books.own(h.ID(), second)
			}
		}
	})
	return second
}

// finish ends what is still alive of a life.
func (w *world) finish(p *process, how End) {
	if how != Stop && !p.isDead() {
		w.totals.count("death at rest")
		w.die(p, how)
	}
	w.mend()
	for _, p := range w.living() {
		p.bury()
	}
	w.mend() // of what came meanwhile
	w.mu.Lock()
	w.alive = nil
	w.mu.Unlock()
	w.interrupted()
	w.faulty = false
}

// mend ends all faults of the disk.
func (w *world) mend() {
	w.mu.Lock()
	for _, t := range w.timers {
		t.Stop()
	}
	w.timers = nil
	w.mu.Unlock()
	w.disk.Fill(false)
	w.disk.FailOpen(nil)
	w.disk.FailRead(nil, nil)
}

// sleep lets time pass with nobody there. On a shared disk the leases of the
// dead end meanwhile.
func (w *world) sleep(l *Life) {
	time.Sleep(seconds(l.Down))
	if w.plan.Shared {
		time.Sleep(2 * time.Minute)
	}
}

func (w *world) living() []*process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*process(nil), w.alive...)
}

// interrupted counts an end of a process, or of what it executed.
func (w *world) interrupted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends++
}

// died remembers a death until it is known what it hit.
func (w *world) died(how End) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaths++
	w.last = how
}

// tick keeps the disk's clock with the others.
func (w *world) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Since(w.start)
	w.disk.Pass(now - w.passed)
	w.passed = now
}

// step is the step of a call.
func (w *world) step(c *host.Call) *Step {
	return &w.plan.Flows[c.Step[1]-'0'].Steps[c.Step[2]-'0']
}

// fail takes note of a violation.
func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.wrong) < 8 {
		w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
	}
	if w.diary != nil {
		fmt.Fprintf(w.diary, "!!! "+format+"\n", args...)
	}
}

// note writes into the diary, if somebody wants one.
func (w *world) note(p *process, what ...string) {
	if w.diary == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	number := 0
	if p != nil {
		number = p.number
	}
	fmt.Fprintf(w.diary, "%8.3f %d %s\n", time.Since(w.start).Seconds(), number, strings.Join(what, " "))
}

// totals counts what happened in all plans.
type totals struct {
	crashes atomic.Int64 // ends of a process, by kill or cut, that hit open runs
	hit     atomic.Int64 // open runs that they hit
	plans   atomic.Int64
	mu      sync.Mutex
	counts  map[string]int
	time    time.Duration
}

func (t *totals) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

func (t *totals) passed(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.time += d
}
