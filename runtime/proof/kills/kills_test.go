package kills_test

import (
	"math/rand/v2"
	"testing"
	"time"
)

// moments are when a process is killed, adapted to how long one takes to open.
type moments struct {
	opening time.Duration
}

// kill kills a process while it opens, or somewhere in its work, and reports
// whether it had opened.
func (m *moments) kill(p *process) (atWork bool) {
	began := time.Now()
	if m.opening > 0 && rand.IntN(3) == 0 {
		select {
		case <-time.After(rand.N(m.opening * 5 / 4)):
		case <-p.opened:
		}
	} else {
		<-p.opened
		took := time.Since(began)
		m.opening = (m.opening*3 + took) / 4
		if m.opening == took/4 {
			m.opening = took
		}
		time.Sleep(rand.N(350 * time.Millisecond))
	}
	p.kill()
	return len(p.said) > 0
}

// A process that runs fifty workflows over the real store and HTTP receivers is
// killed at any moment, again and again, and each time a fresh one goes on over
// the same directory. The receivers' ledger has each key once at most, and of
// each run that completes exactly what its plan says; nothing that was told is
// lost; only what nobody may repeat waits for a person.
//
// Seen red with the intent's barrier removed, with charges that are not booked, and
// without the occurrence in the key.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t), new(moments)
	atWork, inFlight := 0, 0
	for range *kills {
		if m.kill(w.spawn(nil)) {
			atWork++
		}
		inFlight += w.unanswered()
	}
	documents := w.drain()
	w.judge(documents)
	states := map[string]int{}
	for _, c := range documents {
		states[string(c.State)]++
	}
	t.Logf("%d kills, %d of them behind the opening, %d requests unanswered; runs %v", *kills, atWork, inFlight, states)
	if atWork == 0 || inFlight == 0 || states["completed"] < *kills {
		t.Error("hardly anything was tried")
	}
}

// unanswered counts the requests of the last life whose answer came too late.
func (w *world) unanswered() (n int) {
	w.t.Helper()
	answered := map[int]bool{}
	lines := w.outside.lines(0)
	for _, l := range lines {
		if l.Kind == lineAnswer && l.Life == w.lives {
			answered[l.Of] = true
		}
	}
	for _, l := range lines {
		if l.Kind == lineRequest && l.Life == w.lives && (l.Fault == "" || l.Fault == "slow") && !answered[l.N] {
			n++
		}
	}
	return n
}
