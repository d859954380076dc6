package guests_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// mostMemory is what a process may take with all the guests of this test in it:
// at most GOMAXPROCS guests of 128 MiB at once, and what they leave until it is
// given back.
const mostMemory = 1 << 30

// spawn lives a life in a process of its own.
func spawn(t *testing.T, l life) *report {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), lifeVariable+"="+string(text))
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the process ended with %v:\n%s", err, said)
	}
	if len(said) > 0 {
		t.Errorf("the process said:\n%.4000s", said)
	}
	var r report
	text, err = os.ReadFile(l.Report)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		t.Errorf("the engine logged errors: %.4000q", r.Errors)
	}
	if r.Peak > mostMemory {
		t.Errorf("the process took %d MiB", r.Peak>>20)
	}
	t.Logf("peak %d MiB", r.Peak>>20)
	return &r
}

// Whatever a guest does is a typed end of its own run, within its limits. Runs
// beside it complete before computing guests have used up theirs, each effect
// exactly once; the process does not grow; and a fresh process enters none of
// the failed runs again, nor does a resume.
//
// Seen red with five times the refusals beyond a step's limit of calls, and with
// a stream whose pieces are not paid for (the process never ended).
func TestHostileGuestsEndAloneBesideOrdinaryRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := life{
		Store: filepath.Join(dir, "store"), Ledger: filepath.Join(dir, "ledger"), Report: filepath.Join(dir, "report"), First: true,
	}
	first := spawn(t, l)
	effects := ledger(t, l.Ledger)
	if len(first.Beside) != endless {
		t.Errorf("%d endless runs, not %d", len(first.Beside), endless)
	}
	for id, state := range first.Beside {
		c := first.Documents[id]
		if state != pawl.StateRunning || c.LastError == nil || c.LastError.Code != "work_limit" || c.Budgets.Work.Used != endlessWork {
			t.Errorf("%s was %s when the ordinary runs had completed, then %s: %+v, work %+v", id, state, c.State, c.LastError, c.Budgets.Work)
		}
	}
	judgeOrdinary(t, first, effects)
	rows := misdeeds()
	for i := range rows {
		judge(t, &rows[i], first)
	}

	l.First = false
	second := spawn(t, l)
	if len(second.Entered) > 0 {
		t.Errorf("a fresh process entered guests again: %v", second.Entered)
	}
	for id, was := range first.Documents {
		is := second.Documents[id]
		if is == nil {
			t.Errorf("%s is gone", id)
			continue
		}
		if is.State != was.State || is.Seq != was.Seq || is.Budgets.Work != was.Budgets.Work || is.Steps[0].Attempts != was.Steps[0].Attempts {
			t.Errorf("%s was %s at %d, is %s at %d", id, was.State, was.Seq, is.State, is.Seq)
		}
		if code := second.Resumed[id]; is.State == pawl.StateFailed && code != "deterministic" {
			t.Errorf("%s: a resume says %q", id, code)
		}
	}
	if again := ledger(t, l.Ledger); len(again) != len(effects) {
		t.Errorf("%d effects, then %d", len(effects), len(again))
	}
}

// ledger is what the receiver wrote down: lines of a run and a key.
func ledger(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func judgeOrdinary(t *testing.T, r *report, effects []string) {
	t.Helper()
	times := map[string]int{}
	for _, line := range effects {
		times[line]++
	}
	runs, calls := 0, 0
	for id, c := range r.Documents {
		if !strings.HasPrefix(id, "ordinary-") {
			continue
		}
		runs++
		if c.State != pawl.StateCompleted || string(c.Output()) != `"out"` {
			t.Errorf("%s: %s: %+v", id, c.State, c.Reasons)
		}
		for _, call := range c.Steps[0].Calls {
			calls++
			if n := times[c.Run+" "+call.Key]; n != 1 {
				t.Errorf("%s: the receiver has key %s %d times", id, call.Key, n)
			}
		}
	}
	if runs != ordinary || calls != ordinary*ordinaryCalls {
		t.Errorf("%d ordinary runs, %d calls", runs, calls)
	}
}

func judge(t *testing.T, m *misdeed, r *report) {
	t.Helper()
	c := r.Documents["bad-"+m.name]
	switch {
	case c == nil:
		t.Errorf("%s: no run", m.name)
		return
	case m.code == "":
		if c.State != pawl.StateCompleted {
			t.Errorf("%s: %s: %+v", m.name, c.State, c.LastError)
		}
	case c.State != pawl.StateFailed || c.LastError == nil || c.LastError.Code != m.code || c.LastError.Kind != "deterministic" || c.LastError.Step != "one":
		t.Errorf("%s: %s, want %s: %+v %+v", m.name, c.State, m.code, c.LastError, c.Reasons)
		return
	case len(c.Reasons) == 0 || c.Reasons[0].Step != "one" || c.Reasons[0].Sentence == "" || c.Reasons[0].Waker == "":
		t.Errorf("%s: nothing says what to do: %+v", m.name, c.Reasons)
	case len(c.LastError.Message) > 16<<10 || strings.Contains(c.LastError.Message, "goroutine "):
		t.Errorf("%s: message of %d bytes: %.300q", m.name, len(c.LastError.Message), c.LastError.Message)
	}
	if m.did != nil {
		if why := m.did(c, r.Logs["bad-"+m.name]); why != "" {
			t.Errorf("%s: the harm was not tried: %s", m.name, why)
		}
	}
}
