package crashtest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// gate is the observer of a run that is to be killed. At its boundary it says
// so and never returns, so that the run stands still until the kill.
type gate struct {
	at    *boundary
	child *child
	store kv.Store
	gone  <-chan struct{} // closed when the parent is gone

	passed atomic.Bool  // the point was inside the call, and the call has come to it
	waits  atomic.Int32 // of the call, so far
}

// observe implements [pawl.Observer].
func (g *gate) observe(e pawl.Event) {
	switch g.at.Point {
	case H2, H3:
		g.held(e)
	case H5:
		g.settled(e)
	case Fault:
		g.failing(e)
	case H6, Park, Begin:
		g.stepped(e)
	default:
		g.called(e)
	}
}

// mine reports whether the event is about the boundary's call.
func (g *gate) mine(e pawl.Event) bool {
	return e.Step == g.at.Step && e.Attempt == g.at.Attempt && e.Call == g.at.Call
}

// called stands still at an event of the call itself.
func (g *gate) called(e pawl.Event) {
	if !g.mine(e) {
		return
	}
	switch {
	case g.at.Point == H0 && e.Kind == pawl.BeforeIntent:
		g.stand(true)
	case g.at.Point == Wait && e.Kind == pawl.Waiting:
		if int(g.waits.Add(1)) == g.at.Waits {
			g.stand(false)
		}
	case e.Try != g.at.Try:
	case g.at.Point == Retry && e.Kind == pawl.Retrying:
		g.stand(g.at.Unawaited)
	case g.at.Point == H1 && e.Kind == pawl.IntentDurable,
		g.at.Point == BeforeWrite && g.at.Silent && e.Kind == pawl.IntentDurable,
		g.at.Point == BeforeWrite && e.Kind == pawl.Sent:
		g.stand(false) // waiting here would do the work of a barrier that is missing
	case (g.at.Point == H4 || g.at.Point == AfterWrite) && e.Kind == pawl.Answered:
		g.stand(g.at.Unawaited)
	}
}

// held lets the receiver be told to hold the call, and the call go out. What
// the call would do next if nobody killed the process is not done.
func (g *gate) held(e pawl.Event) {
	switch {
	case g.passed.Load():
		if e.Kind != pawl.IntentDurable && e.Kind != pawl.ReceiptDurable { // these only report
			g.forever()
		}
	case !g.mine(e):
	case g.before(e):
		g.say(sayArmed)
		select {
		case <-g.child.told:
		case <-g.gone:
			g.forever()
		}
	case e.Kind == pawl.Sent && e.Try == g.at.Try:
		if g.at.Unawaited {
			g.flush()
		}
		g.passed.Store(true)
	}
}

// before reports whether the try that is to be held comes next.
func (g *gate) before(e pawl.Event) bool {
	if g.at.Try > 1 {
		return e.Kind == pawl.Retrying && e.Try == g.at.Try-1
	}
	return e.Kind == pawl.BeforeIntent
}

// settled stands still at the first event after the call's receipt.
func (g *gate) settled(e pawl.Event) {
	switch {
	case g.mine(e) && (e.Kind == pawl.Answered || g.at.Stored && e.Kind == pawl.BeforeIntent):
		g.passed.Store(true)
	case g.passed.Load() && (e.Kind == pawl.BeforeIntent || e.Kind == pawl.Returned):
		g.stand(true)
	}
}

// stepped stands still between the checkpoint of a step or of an attempt and
// what comes next.
func (g *gate) stepped(e pawl.Event) {
	own := e.Step == g.at.Step && e.Attempt == g.at.Attempt
	switch {
	case g.at.Point == Park && own && e.Kind == pawl.AttemptFailed,
		g.at.Point == Begin && own && e.Kind == pawl.Begun:
		g.stand(false) // durable by itself
	case g.at.Point != H6:
	case e.Kind == pawl.Begun && g.at.Next != "" && e.Step == g.at.Next, e.Kind == pawl.Completed && g.at.Next == "":
		g.stand(true)
	}
}

// stand tells the parent that the boundary is reached, and waits for the kill.
// durable makes everything before it durable first.
func (g *gate) stand(durable bool) {
	if durable {
		g.flush()
	}
	g.say(sayReached)
	g.forever()
}

// flush makes every record that the run has made so far durable: an empty batch
// that is waited for takes all earlier ones with it.
func (g *gate) flush() {
	if err := g.store.Commit(new(kv.Batch)).Wait(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "crashtest: earlier records did not become durable:", err)
		g.forever()
	}
}

func (g *gate) say(what string) {
	if err := g.child.say(message{Say: what}); err != nil {
		g.forever() // the parent is gone; so will this process be
	}
}

func (g *gate) forever() { select {} }
