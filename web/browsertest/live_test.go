package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// once is what the receivers did when ticket T1 was refunded once.
var once = map[string]int{"tickets.claim": 1, "orders.hold": 1, "tickets.note": 1, "pay.refund": 1, "mail.send": 1}

// spent is what a refund of T1 spends in peace.
type spent struct {
	Attempts, Calls, Recoveries int64
	Units                       map[string]int64
}

func spentBy(c *pawl.Checkpoint) spent {
	s := spent{c.Budgets.Attempts.Used, c.Budgets.Calls.Used, c.Budgets.Recoveries.Used, map[string]int64{}}
	for unit, n := range c.Budgets.Units {
		s.Units[unit] = n.Used
	}
	return s
}

var peaceful = spent{Attempts: 4, Calls: 7, Units: map[string]int64{"tokens": 212, "eur_cent": 1490}}

// A person fills in the form, and sees the run go on to its end without doing
// anything more.
// Seen red with a page that fetches nothing.
func TestRefundFromTheFormIsWatchedToItsEnd(t *testing.T) {
	t.Parallel()
	w := refunds(t)
	held, err := w.receivers.Hold(t.Context(), "pay.refund", crashtest.Before)
	if err != nil {
		t.Fatal(err)
	}
	p := person(t, w.origin).tab()
	p.open("/")
	p.shows("main", "No run")
	p.goes(`a[href$="workflows/refund/start"]`)
	p.startT1("refund-T1")
	<-held // send is under way
	p.shows("#part-head", "running")
	p.mark()
	p.shows("#part-head", "completed")
	p.stillMarked()
	for _, tool := range []string{"tickets.claim", "orders.get", "orders.hold", "llm.complete", "tickets.note", "pay.refund", "mail.send"} {
		p.shows("main", tool)
	}
	if diff := cmp.Diff(once, w.effects()); diff != "" {
		t.Error(diff)
	}
	if c := w.document("refund-T1"); c.State != pawl.StateCompleted {
		t.Errorf("the run is %s", c.State)
	}
	p.goes(`a[href$="../"]`)
	p.shows("main", "Refund W1001")
}

// startT1 fills in the form of the refund and sends it.
func (p *page) startT1(id string) {
	p.t.Helper()
	p.fill(`[name="id"]`, id)
	p.fill(`[name="in/id"]`, "T1")
	p.fill(`[name="in/order"]`, "W1001")
	p.do(chromedp.SetValue(chromedp.CSS(`[name="in/status"]`), `"open"`))
	p.fill(`[name="in/items"]`, "cup-blue")
	p.fill(`[name="in/text"]`, "The cup arrived broken. I would like my money back.")
	if status := p.goes(`form[action$="/start"] button`); status != 200 {
		p.t.Fatalf("the form was answered with %d:\n%s", status, p.text("main"))
	}
}

// mark leaves something in the page that no reload survives.
func (p *page) mark() { eval[bool](p, "window.marked = true") }

func (p *page) stillMarked() {
	p.t.Helper()
	if !eval[bool](p, "window.marked === true") {
		p.t.Error("the page was loaded again")
	}
}

// The server is killed when the payment has been made and not answered for. The
// page that is open says that it is cut off; when there is a server again, both
// the page and the run go on by themselves.
// Seen red with a payment that is sent again before it is asked for, and with a
// page that fetches nothing.
func TestServerThatIsKilledInMidStepGoesOnBeforeTheOpenPage(t *testing.T) {
	t.Parallel()
	w := refunds(t)
	held, err := w.receivers.Hold(t.Context(), "pay.refund", crashtest.After)
	if err != nil {
		t.Fatal(err)
	}
	p := person(t, w.origin).tab()
	p.open("/workflows/refund/start")
	p.startT1("refund-T1")
	<-held
	p.shows("main", "pay.refund")
	p.mark()
	before := spentBy(w.document("refund-T1"))
	p.unreachable(true)
	w.kill()
	p.shows("body", "connection")
	w.start()
	p.shows("#part-head", "completed")
	p.unreachable(false)
	p.stillMarked()
	if diff := cmp.Diff(once, w.effects()); diff != "" {
		t.Error(diff)
	}
	if n := w.requests()["pay.refund"]; n != 1 {
		t.Errorf("pay.refund was asked %d times for its one payment", n)
	}
	after := peaceful
	after.Recoveries = 1
	if diff := cmp.Diff(after, spentBy(w.document("refund-T1"))); diff != "" {
		t.Errorf("budgets at the end (and %v when it was killed): %s", before, diff)
	}
	if before.Attempts != after.Attempts || before.Recoveries != 0 || before.Calls >= after.Calls {
		t.Errorf("when it was killed it had spent %v", before)
	}
}
