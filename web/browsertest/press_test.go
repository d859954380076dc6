package browsertest

import (
	"net/http"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// patient makes draft wait long for its next attempt, of which there are many.
var patient = []string{
	`attempts = 4, backoff = "1s", max_backoff = "1m"`, `attempts = 40, backoff = "1h", max_backoff = "2h"`,
	"attempts    = 12", "attempts    = 50",
}

// modelDown makes a world with a run whose model is down: draft has made its
// first attempt, and waits so long for its second that only a person makes it.
func modelDown(t *testing.T) *world {
	t.Helper()
	w := refunds(t, patient...)
	w.fault("llm.complete", "503")
	w.begin("refund", "refund-T1", `{"id":"T1","order":"W1001","status":"open","items":["cup-blue"],"text":"Broken."}`)
	w.rests(1)
	return w
}

// rests waits until draft has made so many attempts and the run waits again.
func (w *world) rests(attempts int) {
	w.t.Helper()
	w.until("refund-T1", func(c *pawl.Checkpoint) bool {
		return c.State == pawl.StateWaiting && step(w.t, c, "draft").Attempts == attempts
	})
}

const resume = `form[action$="/resume"] button`

// exactly checks what was done: the document's attempts and what reached the
// model, of which one attempt makes perAttempt.
func (w *world) exactly(attempts, perAttempt int) {
	w.t.Helper()
	w.rests(attempts)
	if n := w.requests()["llm.complete"]; n != attempts*perAttempt {
		w.t.Errorf("the model was asked %d times in %d attempts, want %d times each", n, attempts, perAttempt)
	}
	if n := w.effects()["tickets.claim"]; n != 1 {
		w.t.Errorf("the ticket was claimed %d times", n)
	}
}

// However often and by how many people the button is pressed, what they were
// shown is done once: the ledger of the model is the judge.
// Seen red with a press that does not say what the person was shown.
func TestResumeDoesOneThing(t *testing.T) {
	t.Parallel()
	w := modelDown(t)
	perAttempt := w.requests()["llm.complete"]
	ana, ben, old := person(t, w.origin).tab(), person(t, w.origin).tab(), person(t, w.origin).tab()

	ana.open("/runs/refund-T1")
	ana.shows("main", "begins attempt 2 of draft now") // what it will do
	ana.shows("main", "no effect that is known to have happened is repeated")
	ana.goes(resume)
	w.exactly(2, perAttempt)

	ana.shows("main", "begins attempt 3 of draft now")
	ana.expect(http.StatusConflict) // of a double click the second may be told that the first was faster
	ana.doubleClicks(resume)
	ana.shows("main", "begins attempt 4 of draft now")
	w.exactly(3, perAttempt)

	old.do(called(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	old.open("/runs/refund-T1") // and stays as it is
	ben.open("/runs/refund-T1")
	ben.shows("main", "begins attempt 4 of draft now")
	ben.expect(http.StatusConflict)
	var both errgroup.Group
	var answered [2]int64
	for i, p := range []*page{ana, ben} {
		both.Go(func() (err error) {
			answered[i], err = p.tries(resume)
			return err
		})
	}
	if err := both.Wait(); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(answered[:]); answered != [2]int64{http.StatusOK, http.StatusConflict} {
		t.Errorf("two people were answered %v", answered)
	}
	w.exactly(4, perAttempt)

	old.expect(http.StatusConflict)
	if status := old.goes(resume); status != http.StatusConflict {
		t.Errorf("a page that is as old as the attempt before was answered %d", status)
	}
	old.shows(".notice", "Nothing was done")
	w.exactly(4, perAttempt)

	w.fault("llm.complete", "ok")
	ben.shows("main", "begins attempt 5 of draft now")
	ben.goes(resume)
	for _, p := range []*page{ana, ben} {
		p.shows("#part-head", "completed")
	}
	if n := w.requests()["llm.complete"]; n != 4*perAttempt+1 {
		t.Errorf("the model was asked %d times, of which %d in each of four attempts", n, perAttempt)
	}
	if diff := cmp.Diff(once, w.effects()); diff != "" {
		t.Error(diff)
	}
}
