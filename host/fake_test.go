package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// diary is what happened around a call, in order, each event with the time
// since the start if that is not zero: "intend wait send@2s".
type diary struct {
	mu     sync.Mutex
	start  time.Time
	events []event
}

type event struct {
	what string
	at   time.Duration
	call host.Call
}

func (d *diary) note(c *host.Call, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := event{what: what, at: time.Since(d.start)}
	if c != nil {
		e.call = *c
	}
	d.events = append(d.events, e)
}

func (d *diary) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = nil
}

func (d *diary) all() []event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]event(nil), d.events...)
}

func (d *diary) count(what string) (n int) {
	for _, e := range d.all() {
		if e.what == what {
			n++
		}
	}
	return n
}

func (d *diary) String() string {
	var words []string
	for _, e := range d.all() {
		if e.at != 0 {
			e.what += "@" + e.at.String()
		}
		words = append(words, e.what)
	}
	return strings.Join(words, " ")
}

// fakeLedger keeps a diary. Its errors, if set, are returned.
type fakeLedger struct {
	*diary
	intendErr, retryErr, waitErr, settleErr error

	// block, if not nil, holds every Wait until it is closed.
	block   chan struct{}
	waiting chan struct{} // one value for every Wait that began
	slow    time.Duration // how long a Wait takes
	retries []host.Retry
	intents []host.Intent
	receipt *host.Receipt
}

func (l *fakeLedger) Intend(_ context.Context, i host.Intent) (host.Barrier, error) {
	l.note(i.Call, "intend")
	l.intents = append(l.intents, i)
	return fakeBarrier{l, i.Call}, l.intendErr
}

func (l *fakeLedger) Retry(_ context.Context, r host.Retry) (host.Barrier, error) {
	l.note(r.Call, "retry")
	try := *r.Call
	r.Call = &try
	l.retries = append(l.retries, r)
	return fakeBarrier{l, r.Call}, l.retryErr
}

func (l *fakeLedger) Asked(context.Context, host.Answer, host.Verdict) { l.note(nil, "asked") }

func (l *fakeLedger) Settle(ctx context.Context, r host.Receipt) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("settle was given a context that has ended: %w", err)
	}
	l.note(nil, "settle")
	l.receipt = &r
	return l.settleErr
}

type fakeBarrier struct {
	l    *fakeLedger
	call *host.Call
}

func (b fakeBarrier) Wait(ctx context.Context) error {
	if b.l.waiting != nil {
		b.l.waiting <- struct{}{}
	}
	if b.l.block != nil {
		select {
		case <-b.l.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	time.Sleep(b.l.slow)
	b.l.note(b.call, "wait")
	return b.l.waitErr
}

// fakeTool answers by a script; after its end it gives the last line again.
type fakeTool struct {
	*diary
	contract host.Contract
	answers  []host.Answer
	verdicts []host.Verdict
	sent     int
	asked    int
	onSend   func()
	receiver string // for a receivingTool
}

func (t *fakeTool) ID() string              { return "pay" }
func (t *fakeTool) Contract() host.Contract { return t.contract }

// Codes in a script that are no answers but what a tool does.
const (
	hangs  = "hangs"
	panics = "panics"
)

func (t *fakeTool) Try(ctx context.Context, c *host.Call) host.Answer {
	c.Sent()
	t.note(c, "send")
	if t.onSend != nil {
		t.onSend()
	}
	a := t.answers[min(t.sent, len(t.answers)-1)]
	t.sent++
	switch a.Code {
	case hangs:
		<-ctx.Done()
	case panics:
		panic("a bug of the tool")
	}
	return a
}

func (t *fakeTool) verify(ctx context.Context, c *host.Call) host.Verdict {
	t.note(c, "ask")
	v := t.verdicts[min(t.asked, len(t.verdicts)-1)]
	t.asked++
	switch v.Code {
	case hangs:
		<-ctx.Done()
	case panics:
		panic("a bug of the tool")
	}
	return v
}

// fakeVerifier is a fakeTool that can be asked.
type fakeVerifier struct{ *fakeTool }

func (t fakeVerifier) Verify(ctx context.Context, c *host.Call) host.Verdict {
	return t.verify(ctx, c)
}

// shape is how the calls of the tests are made: seconds that are easy to add.
func shape(class host.Class, tries int) host.Contract {
	return host.Contract{
		Effect: class, Tries: tries,
		Timeout: 10 * time.Second, Settle: 20 * time.Second,
		Backoff: time.Second, MaxBackoff: 4 * time.Second,
		KeyWindow: 100 * time.Second,
		Help:      "Look for {key}.",
	}
}

// Who knows whose books a call ends up in.
type (
	receivingTool     struct{ *fakeTool }
	receivingVerifier struct{ fakeVerifier }
)

func (t receivingTool) Receiver() string     { return t.receiver }
func (t receivingVerifier) Receiver() string { return t.receiver }

// past is what the ledger would tell the next entry.
func (l *fakeLedger) past(wait *host.WaitError) (p host.Past) {
	for _, i := range l.intents {
		p = host.Past{Tries: 1, First: i.At, Last: i.At, Receiver: i.Receiver}
	}
	for _, r := range l.retries {
		if p.First.IsZero() {
			p.First = r.At
		}
		p.Tries, p.Last, p.Receiver = r.Call.Try, r.At, r.Receiver
	}
	if wait != nil {
		p.Waited = &wait.Waited
	}
	return p
}

// stage is one call with all that is around it.
type stage struct {
	*diary
	ledger *fakeLedger
	fake   *fakeTool
	tool   host.Tool
	call   *host.Call
}

func newStage(contract host.Contract, answers []host.Answer, verdicts []host.Verdict) *stage {
	d := &diary{start: time.Now()}
	s := &stage{diary: d, ledger: &fakeLedger{diary: d}}
	contract.Verifies = len(verdicts) > 0
	s.fake = &fakeTool{diary: d, contract: contract, answers: answers, verdicts: verdicts}
	s.tool = s.fake
	if contract.Verifies {
		s.tool = fakeVerifier{s.fake}
	}
	s.call = &host.Call{Tool: "pay", Key: host.Key{1}, Type: "json", Body: []byte("{}")}
	return s
}

func (s *stage) do(ctx context.Context, past host.Past) (*host.Receipt, error) {
	return host.Do(ctx, s.tool, s.ledger, s.call, past)
}

// receivedBy has the tool say who receives its calls.
func (s *stage) receivedBy(name string) {
	s.fake.receiver = name
	s.tool = receivingTool{s.fake}
	if s.fake.contract.Verifies {
		s.tool = receivingVerifier{fakeVerifier{s.fake}}
	}
}

// result says in a word what a call came to.
func result(r *host.Receipt, err error) string {
	switch {
	case errors.Is(err, host.ErrOutcomeUnknown):
		return "undecided"
	case errors.As(err, new(*host.WaitError)):
		return "waits"
	case err != nil:
		return err.Error()
	case r.Verified:
		return r.Outcome.String() + ", verified"
	}
	return fmt.Sprintf("%s, status %d", r.Outcome, r.Status)
}
