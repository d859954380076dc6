package runtime

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// patience is the longest that a call waits inside its instance, for its next
// try or query. What has to wait longer leaves.
const patience = 10 * time.Second

// leaving ends the execution of an attempt because a call has to wait.
type leaving struct{ wait journal.Wait }

func (l *leaving) Error() string { return l.wait.Sentence }

// leave makes the record of a wait that the effect protocol asks for.
func (a *attempt) leave(grant string, contract host.Contract, c *host.Call, w *host.WaitError) error {
	l := &leaving{journal.Wait{
		Step: a.index, Attempt: a.number, Call: c.Index, Tool: c.Tool, Waker: wakerTimer,
		Until: w.Until.UnixMicro(),
	}}
	if c.Try > 0 { // else it has no intent: one before it, with its key, has not returned
		l.wait.Waited = journal.NewWaited(&w.Waited)
	}
	last := w.Waited.Last.Code
	if last == "" {
		last = "no answer yet"
	}
	at := w.Until.UTC().Format(time.TimeOnly)
	switch {
	case w.Paused:
		return a.pausedBy(l, grant, w)
	case w.Hanging:
		l.wait.Code = journal.WaitHanging
		a.body.hung = w.Key
		l.wait.Sentence = fmt.Sprintf("%s waits until %s: a send of %s has not returned although its time is over", a.step.Name, at, grant)
	case !w.Waited.Unapplied && contract.Verifies && contract.Effect != host.Read:
		l.wait.Code = journal.WaitSettle
		l.wait.Sentence = fmt.Sprintf("%s asks %s at %s what became of the call (%s)", a.step.Name, grant, at, last)
	case time.Until(w.Until) > contract.MaxBackoff:
		l.wait.Code = journal.WaitRetryAfter
		l.wait.Sentence = fmt.Sprintf("%s tries %s again at %s, as its receiver wants it (%s)", a.step.Name, grant, at, last)
	default:
		l.wait.Code = journal.WaitBackoff
		l.wait.Sentence = fmt.Sprintf("%s tries %s again at %s (%s)", a.step.Name, grant, at, last)
	}
	return l
}

// pausedBy pauses the tool of a call whose credentials were refused.
func (a *attempt) pausedBy(l *leaving, grant string, w *host.WaitError) error {
	why, message := "credentials_refused", ""
	if last := w.Waited.Last; last.CredentialsRefused {
		why, message = last.Code, last.Message
	}
	e := a.body.engine
	due, how := e.pauses.refused(l.wait.Tool, a.run.ID(), why, a.asked, time.Now(), w.Until)
	a.pausedUntil(l, grant, due, how, message)
	return l
}

// pausedUntil makes the wait for a pause. message, if it is not empty, is what
// the call's own refusal said.
func (a *attempt) pausedUntil(l *leaving, grant string, due time.Time, how journal.Pause, message string) {
	l.wait.Code, l.wait.Until, l.wait.Pause, l.wait.Waker = journal.WaitPaused, due.UnixMicro(), &how, wakerOperator
	did, why := "refused the credentials", how.Why
	if status, ok := strings.CutPrefix(why, askedPrefix); ok {
		why = "HTTP " + status
	} else { // nobody may have been asked, such as for want of a secret
		did, why = "has no credentials that work", cmp.Or(message, why)
	}
	l.wait.Sentence = fmt.Sprintf("%s %s (%s) since %s; mend the secret, then resume. It is tried again at %s",
		grant, did, why, time.UnixMicro(how.Since).UTC().Format(time.RFC3339), due.UTC().Format(time.TimeOnly))
}

// pass says whether a call of the tool may be sent now, or has to wait for the
// tool's pause to end.
func (a *attempt) pass(grant string, c *host.Call) error {
	due, how, ok := a.body.engine.pauses.admit(c.Tool, a.run.ID(), a.asked, time.Now())
	if ok {
		return nil
	}
	l := &leaving{journal.Wait{Step: a.index, Attempt: a.number, Call: c.Index, Tool: c.Tool}}
	a.pausedUntil(l, grant, due, how, "")
	return l
}

// learn draws from what came of a call whether its tool's credentials work.
func (a *attempt) learn(tool string, r *host.Receipt) {
	e := a.body.engine
	switch {
	case r == nil:
		return
	case r.Outcome == host.OutcomeApplied, r.Outcome == host.OutcomeRejected:
	case !e.pauses.unasked(tool): // such as no connection, which says nothing of them
		return
	}
	if e.pauses.lift(tool) {
		e.awaken(func(w *journal.Wait) bool { return w.Code == journal.WaitPaused && w.Tool == tool })
	}
}

// wait records that the attempt waits. A wait does not outlast the deadline:
// then the run is parked for that.
func (a *attempt) wait(l *leaving) journal.Wait {
	w := l.wait
	a.run.Read(func(s *journal.State) {
		if d := s.Start.Limits.Deadline; d > 0 && w.Until > d {
			w.Until = d + 1
		}
	})
	return w
}

// awaken wakes the sleeping bodies whose wait fits.
func (e *Engine) awaken(fits func(*journal.Wait) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, b := range e.live {
		if b.timer != nil && b.waits != nil && fits(b.waits) && b.timer.Stop() {
			e.wake(b)
		}
	}
}

// outlast wakes a body whose call waits for a send that has not returned, once
// it has: that may be long before the body is due. It ends with the wait.
func (e *Engine) outlast(b *body, returned, moved <-chan struct{}) {
	select {
	case <-moved:
		return
	case <-returned:
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-moved: // it sleeps for something else by now, if at all
	default:
		if b.timer != nil && b.timer.Stop() {
			e.wake(b)
		}
	}
}

// still says until when a body that is due has to wait on, zero if it need not,
// or must not: a wait does not outlast the deadline. It is the one that tries
// then, if it waited for that. The caller holds mu.
func (e *Engine) still(b *body, now time.Time) (due time.Time) {
	if !b.deadline.IsZero() && now.After(b.deadline) {
		return time.Time{}
	}
	switch {
	case b.waits == nil:
	case b.waits.Code == journal.WaitPaused:
		due, _, _ = e.pauses.admit(b.waits.Tool, b.id, false, now)
	case b.waits.Code == journal.WaitKey && !e.mayUse(b.waits, b.id):
		due = now.Add(businessCheck)
	}
	if !b.deadline.IsZero() && due.After(b.deadline) {
		due = b.deadline.Add(time.Microsecond)
	}
	return due
}

// over reports whether what a body waits for has come meanwhile. The caller
// holds mu, so that whoever brings it finds the body asleep.
func (e *Engine) over(b *body) bool {
	switch {
	case b.waits == nil:
		return false
	case b.waits.Code == journal.WaitPaused:
		return !e.pauses.paused(b.waits.Tool)
	}
	return b.waits.Code == journal.WaitKey && e.mayUse(b.waits, b.id)
}
