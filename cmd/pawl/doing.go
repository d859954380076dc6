package main

import (
	"fmt"
	"sync"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

const (
	// quickly is how long something may last without being shown: most of what a
	// run does is over before anybody could read it.
	quickly = 300 * time.Millisecond
	// redrawn is how often a screen's line below is made anew.
	redrawn = 100 * time.Millisecond
)

// doing shows on a screen what a run is doing at the moment. The lines of
// progress tell what has become durable; this tells what has not yet.
type doing struct {
	screen *screen
	paint  painter

	mu    sync.Mutex // guards what follows
	now   activity
	width int // of the steps' names
	stop  chan struct{}
	drawn sync.WaitGroup
}

// activity is something that lasts.
type activity struct {
	step, tool, what string
	since            time.Time
	due              time.Time // when it is over; zero if nobody knows
}

// begin shows what is done from now on.
func (d *doing) begin(width int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.width = width
	if d.stop == nil {
		stop := make(chan struct{})
		d.stop = stop
		d.drawn.Go(func() { d.redraw(stop) })
	}
}

// end shows nothing any more.
func (d *doing) end() {
	d.mu.Lock()
	stop := d.stop
	d.stop = nil
	d.mu.Unlock()
	if stop != nil {
		close(stop)
		d.drawn.Wait()
	}
	d.screen.show("")
}

func (d *doing) redraw(stop <-chan struct{}) {
	tick := time.NewTicker(redrawn)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.mu.Lock()
			text := d.text(time.Now())
			d.mu.Unlock()
			d.screen.show(text)
		case <-stop:
			return
		}
	}
}

// text is the line. The caller holds mu.
func (d *doing) text(now time.Time) string {
	a := &d.now
	if a.what == "" || now.Sub(a.since) < quickly {
		return ""
	}
	text := fmt.Sprintf("%s  %s", a.what, duration(now.Sub(a.since).Truncate(redrawn)))
	if !a.due.IsZero() {
		text = a.what + " in " + countdown(a.due.Sub(now))
	}
	return d.paint.in(dim, fmt.Sprintf("  %-*s   %-13s   %s", d.width, a.step, a.tool, text))
}

// countdown is the time that is left, in whole seconds.
func countdown(left time.Duration) string {
	left = max(0, left.Round(time.Second))
	if left < time.Minute {
		return fmt.Sprintf("%d s", left/time.Second)
	}
	return left.String()
}

// observe takes an event for what is done after it.
func (d *doing) observe(e *pawl.Event) {
	a, ok := after(e)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.what == d.now.what && a.step == d.now.step && a.tool == d.now.tool && a.due.Equal(d.now.due) {
		return
	}
	d.now = a
	d.now.since = time.Now()
}

// after is what a run does after an event; ok is false if the event says nothing
// of that.
func after(e *pawl.Event) (a activity, ok bool) {
	a = activity{step: e.Step, tool: plain(e.Tool)}
	switch e.Kind {
	case pawl.Begun, pawl.Answered, pawl.Refused, pawl.Claimed:
		a.tool, a.what = "", "computes"
	case pawl.BeforeIntent, pawl.IntentDurable:
		a.what = "is about to be sent"
	case pawl.Sent:
		a.what = "sent, no answer yet"
		if e.Try > 1 || e.Tries > 1 {
			a.what = fmt.Sprintf("sent, no answer yet (try %d of %d)", e.Try, max(e.Tries, e.Try))
		}
	case pawl.Retrying:
		a.what = fmt.Sprintf("waits for try %d of %d", e.Try+1, max(e.Tries, e.Try+1))
	case pawl.Asked:
		a.what = "finds out what happened"
	case pawl.Waiting:
		a.what, a.due = "goes on", e.Due
	case pawl.AttemptFailed:
		if !e.Due.IsZero() {
			a.what, a.due = fmt.Sprintf("attempt %d begins", e.Attempt+1), e.Due
		}
	case pawl.Parked, pawl.Stopped, pawl.Completed:
	default:
		return activity{}, false
	}
	return a, true
}
