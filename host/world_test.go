package host_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"pgregory.net/rapid"
)

// TestNoEffectHappensTwice lives through the life of one call: receivers that
// keep the promise of their class and no more, processes that die at any point
// and lose what is not durable, waits that are cut short, tools that are pointed
// elsewhere, sends that do not return. The receivers' own books are the judge.
//
// Seen red with each of these broken: an absent believed before the settle time,
// while a send is live, right after one returned late, and of another receiver;
// once repeated; what waits taken for not applied; a barrier left out; the key
// not claimed; a Retry-After passed over; the tries counted anew after a wait.
func TestNoEffectHappensTwice(t *testing.T) {
	t.Parallel()
	for range 30 { // what is rare needs more than the usual 100 lives
		rapid.Check(t, func(rt *rapid.T) { liveOnce(t, rt) })
	}
}

func liveOnce(t *testing.T, rt *rapid.T) {
	classes := []host.Class{host.Once, host.Read, host.Keyed, host.Keyed, host.Verify, host.Verify}
	class := rapid.SampledFrom(classes).Draw(rt, "class")
	w := &world{contract: shape(class, rapid.IntRange(1, 3).Draw(rt, "tries"))}
	w.contract.KeyWindow = rapid.SampledFrom([]time.Duration{host.NoKeyWindow, 100 * time.Second, time.Hour}).Draw(rt, "window")
	w.contract.Verifies = class == host.Verify || rapid.Bool().Draw(rt, "can be asked")
	w.patience = rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second}).Draw(rt, "patience")
	w.dice = rapid.SliceOfN(rapid.IntRange(0, 9999), 30, 150).Draw(rt, "dice")
	synctest.Test(t, func(*testing.T) { w.live() })
	if w.wrong != "" {
		rt.Fatalf("%s\n%s, %d tries, window %s, patience %s\n%s", w.wrong, class, w.contract.Tries, w.contract.KeyWindow, w.patience, &w.diary)
	}
}

// world is everything around one call, over all processes.
type world struct {
	diary
	contract host.Contract
	patience time.Duration

	play  sync.Mutex // guards what follows
	dice  []int
	books map[string]*books
	wrong string

	// The journal, of which the first so many records are durable.
	records []record
	durable int
	// Of the entries that count their tries together.
	sends     int
	notBefore time.Time
}

// books are those of one receiver.
type books struct {
	effects int
	seen    time.Time // when it first heard of the key, as far as it remembers
	known   bool      // the effect of the key, as far as it remembers
	coming  int       // what it will apply later
}

type record struct {
	tries    int
	at       time.Time
	receiver string
	waited   *host.Waited
	receipt  *host.Receipt
}

// process runs entries of the call until it dies.
type process struct {
	*world
	receiver string
	sends    host.Sends
	dead     chan struct{}
	died     time.Time
	inFlight int
	hung     bool // that a send had not returned is recorded
}

// roll is a number below n; most often the first, when the dice are used up.
func (w *world) roll(n int) int {
	w.play.Lock()
	defer w.play.Unlock()
	if len(w.dice) == 0 {
		return 0
	}
	d := w.dice[0]
	w.dice = w.dice[1:]
	return d % n
}

func (w *world) errorf(format string, args ...any) {
	w.play.Lock()
	defer w.play.Unlock()
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// live is the call's life, until it has a durable receipt or a person decides.
func (w *world) live() {
	w.start = time.Now()
	w.books = map[string]*books{"A": {}, "B": {}}
	p := w.boot("A")
	for range 40 {
		past, receipt := w.past()
		if receipt != nil {
			time.Sleep(time.Hour) // whatever is still to come
			w.judge(receipt)
			return
		}
		w.begun(past)
		_, err := p.enter(past)
		var wait *host.WaitError
		switch {
		case errors.Is(err, host.ErrOutcomeUnknown):
			w.note(nil, "undecided")
			time.Sleep(time.Hour)
			w.judge(nil)
			return
		case errors.As(err, &wait):
			p = w.wait(p, wait)
		case err != nil || w.roll(3) == 2: // it stopped, or dies with its receipt
			p = w.restart(p)
		default:
			w.written()
		}
	}
}

// begun counts the tries on after a wait, and else anew.
func (w *world) begun(past host.Past) {
	w.play.Lock()
	defer w.play.Unlock()
	w.sends = 0
	if past.Waited != nil {
		w.sends = past.Waited.Sent
	}
}

// written makes all records durable, and those that are given.
func (w *world) written(records ...record) {
	w.play.Lock()
	defer w.play.Unlock()
	w.records = append(w.records, records...)
	w.durable = len(w.records)
}

// goOn lets the next sending be at once.
func (w *world) goOn() {
	w.play.Lock()
	defer w.play.Unlock()
	w.notBefore = time.Time{}
}

func (w *world) judge(r *host.Receipt) {
	w.play.Lock()
	effects := w.books["A"].effects + w.books["B"].effects
	w.play.Unlock()
	switch {
	case w.contract.Effect == host.Read:
	case effects > 1:
		w.errorf("%d effects", effects)
	case r == nil:
	case r.Outcome == host.OutcomeApplied && effects == 0, r.Outcome != host.OutcomeApplied && effects > 0:
		w.errorf("told %s, with %d effects", r.Outcome, effects)
	}
}

func (w *world) boot(receiver string) *process {
	w.note(nil, "boot "+receiver)
	return &process{world: w, receiver: receiver, dead: make(chan struct{})}
}

func (p *process) die() {
	p.play.Lock()
	defer p.play.Unlock()
	select {
	case <-p.dead:
		return
	default:
	}
	close(p.dead)
	p.died = time.Now()
	// Nobody knows which of the records that were not waited for are there.
	left := 0
	if len(p.dice) > 0 {
		left = p.dice[0] % (len(p.records) - p.durable + 1)
	}
	p.records = p.records[:p.durable+left]
	p.durable = len(p.records)
}

// point is a moment at which the process may die. What is dead does nothing.
func (p *process) point() {
	if p.isDead() || p.roll(20) == 19 {
		p.die()
		runtime.Goexit()
	}
}

func (p *process) isDead() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

func (w *world) restart(p *process) *process {
	p.die()
	time.Sleep([]time.Duration{0, time.Second, 15 * time.Second, 70 * time.Second, 72 * time.Hour}[w.roll(5)])
	receiver := p.receiver
	if w.roll(5) == 4 {
		receiver = map[string]string{"A": "B", "B": "A"}[receiver]
	}
	w.goOn()
	return w.boot(receiver)
}

// wait is what the runtime does with a call that leaves.
func (w *world) wait(p *process, wait *host.WaitError) *process {
	w.note(nil, "leave")
	if w.roll(10) == 9 {
		return w.restart(p) // before it is recorded
	}
	w.written(record{waited: &wait.Waited})
	p.play.Lock()
	p.hung = wait.Hanging
	p.play.Unlock()
	switch w.roll(6) {
	case 5:
		return w.restart(p)
	case 4:
		w.goOn() // a person does not wait
	default:
		time.Sleep(time.Until(wait.Until))
	}
	return p
}

// past reads the journal.
func (w *world) past() (p host.Past, receipt *host.Receipt) {
	w.play.Lock()
	defer w.play.Unlock()
	for _, r := range w.records {
		switch {
		case r.receipt != nil && r.receipt.Code == host.CodeStopped:
			p = host.Past{First: p.First}
		case r.receipt != nil:
			receipt = r.receipt
		case r.waited != nil:
			p.Waited = r.waited
		default:
			p.Tries, p.Last, p.Receiver, p.Waited = r.tries, r.at, r.receiver, nil
			if p.First.IsZero() {
				p.First = r.at
			}
		}
	}
	return p, receipt
}

// enter runs Do until it returns or the process dies.
func (p *process) enter(past host.Past) (*host.Receipt, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := &host.Call{Tool: "pay", Key: host.Key{1}, Patience: p.patience, Sends: &p.sends}
	if p.roll(6) == 5 {
		end := time.AfterFunc(time.Duration(p.roll(60))*time.Second, cancel)
		defer end.Stop()
		if p.roll(2) == 1 {
			cut := make(chan struct{})
			call.Cut = cut
			context.AfterFunc(ctx, func() { time.Sleep(5 * time.Second); close(cut) })
		}
	}
	var tool host.Tool = worldTool{p}
	if p.contract.Verifies {
		tool = worldVerifier{worldTool{p}}
	}
	type result struct {
		receipt *host.Receipt
		err     error
	}
	done := make(chan result, 1)
	go func() {
		r, err := host.Do(ctx, tool, worldLedger{p}, call, past)
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		return r.receipt, r.err
	case <-p.dead:
		return nil, errors.New("killed")
	}
}

// worldLedger writes the records of a process.
type worldLedger struct{ *process }

func (l worldLedger) Intend(_ context.Context, i host.Intent) (host.Barrier, error) {
	return l.append(record{tries: 1, at: i.At, receiver: i.Receiver}), nil
}

func (l worldLedger) Retry(_ context.Context, r host.Retry) (host.Barrier, error) {
	return l.append(record{tries: r.Call.Try, at: r.At, receiver: r.Receiver}), nil
}

func (l worldLedger) Asked(context.Context, host.Answer, host.Verdict) { l.point() }

func (l worldLedger) Settle(_ context.Context, r host.Receipt) error {
	l.note(nil, "settle "+r.Outcome.String())
	l.append(record{receipt: &r})
	return nil
}

func (l worldLedger) append(r record) worldBarrier {
	l.point()
	l.play.Lock()
	l.records = append(l.records, r)
	b := worldBarrier{l.process, len(l.records)}
	l.play.Unlock()
	l.point()
	return b
}

type worldBarrier struct {
	*process
	upTo int
}

func (b worldBarrier) Wait(context.Context) error {
	b.point()
	time.Sleep(time.Duration(b.roll(3)) * time.Second)
	b.point()
	b.play.Lock()
	b.durable = max(b.durable, b.upTo)
	b.play.Unlock()
	return nil
}
