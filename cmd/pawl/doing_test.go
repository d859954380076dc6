package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// onScreen is a progress whose standard error is a screen, and what it wrote.
func onScreen() (*progress, *lockedBuffer) {
	var out lockedBuffer
	s := &screen{out: &out}
	p := &progress{out: s, told: map[string]bool{}, doing: &doing{screen: s}}
	p.begin(&pawl.Checkpoint{
		ExternalID: "r", Title: "A run", Workflow: pawl.WorkflowID{Name: "w", Version: "1"},
		Steps: []pawl.StepCheckpoint{{Name: "first"}},
	})
	return p, &out
}

// shown is what stands on a terminal after text was written to it.
func shown(text string) string {
	var lines []string
	line := ""
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, eraseLine):
			line, text = "", text[len(eraseLine):]
		case strings.HasPrefix(text, noWrap), strings.HasPrefix(text, wrap):
			text = text[len(wrap):]
		case text[0] == '\n':
			lines, line, text = append(lines, line), "", text[1:]
		default:
			line, text = line+text[:1], text[1:]
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// Seen red with the line left where it stood, and with the countdown left out.
func TestTheLineBelowTellsWhatIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, out := onScreen()
		see := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := shown(out.String()); got != want {
				t.Errorf("on the screen:\n%s\nwant:\n%s", got, want)
			}
		}
		call := pawl.Event{Step: "first", Tool: "get", Class: host.Read, Try: 1, Tries: 3, Seq: 1}
		as := func(e pawl.Event, kind pawl.EventKind) pawl.Event { e.Kind = kind; return e }

		p.observe(as(call, pawl.Sent))
		see(quickly/2, head)
		see(time.Second, head+"  first      get             sent, no answer yet (try 1 of 3)  1.1 s")

		failed := as(call, pawl.Retrying)
		failed.Message = "no answer"
		p.observe(failed)
		p.observe(as(call, pawl.IntentDurable))
		lines := head + "  first      get             no answer (try 1 of 3). A read: repeating is safe\n"
		see(0, lines+"  first      get             sent, no answer yet (try 1 of 3)  1.1 s")

		p.observe(pawl.Event{Kind: pawl.AttemptFailed, Step: "first", Attempt: 1, Code: "x", Message: "no", Seq: 2, Due: time.Now().Add(20 * time.Second)})
		lines += "             attempt 1 failed  x: no (the next one begins in 20.0 s)\n"
		see(5*time.Second, lines+"  first                      attempt 2 begins in 15 s")

		p.observe(pawl.Event{Kind: pawl.Parked, Step: "first", Message: "who knows", Seq: 3})
		lines += "             needs a person  who knows\n"
		see(redrawn, lines)
		p.end()
		p.end()
		see(time.Minute, lines)
	})
}

func TestNoticesStandAboveTheLineBelow(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out}
	s.show("below")
	n, err := s.Write([]byte("a notice\n"))
	if n != len("a notice\n") || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if got := shown(out.String()); got != "a notice\nbelow" {
		t.Errorf("on the screen: %q", got)
	}
	s.show("")
	if got := shown(out.String()); got != "a notice\n" {
		t.Errorf("on the screen: %q", got)
	}
}

// Whatever is no terminal gets plain lines.
func TestOnlyATerminalIsAScreen(t *testing.T) {
	t.Parallel()
	if terminal(&bytes.Buffer{}) != nil {
		t.Error("a buffer was taken for a terminal")
	}
	p := newProgress(&Globals{stderr: &bytes.Buffer{}})
	if p.doing != nil {
		t.Error("what is done now is written into a file")
	}
}
