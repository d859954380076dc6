package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// busy is a tool whose receiver says when to come again.
type busy struct{ after time.Duration }

func (b busy) ID() string              { return "flaky" }
func (b busy) Contract() host.Contract { return host.Contract{Effect: host.Read} }
func (b busy) Try(_ context.Context, c *host.Call) host.Answer {
	c.Sent()
	return host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", Message: "busy", RetryAfter: b.after}
}

// Whether a failed attempt is followed by another, and when, depends on how it
// failed: for good, as not ready yet, or with a call that may be made again.
//
// Seen red with a failure for good followed by another attempt, with a failure
// that would come again taken for one that would not and the reverse, and with
// the waits that the step and the receiver ask for, and the bound of the
// back-off, passed over.
func TestWhatFollowsAFailure(t *testing.T) {
	t.Parallel()
	b := setup(t, busy{2 * time.Hour}, quickTool("read", host.Read, nil))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"read\"]\nretry = { attempts = 3, backoff = \"10m\", max_backoff = \"20m\" }"))
	for name, row := range map[string]struct {
		program    string
		kind, code string
		call       int // -1: none
		next       time.Duration
	}{
		"nothing to make again":         {`[{"call":"read"},{"error":"wrong"}]`, "deterministic", "error", -1, 0},
		"told to fail for good":         {`[{"call":"flaky","ignore":true},{"fail":"wrong"}]`, "deterministic", "wrong", 0, 0},
		"a plain error behind a call":   {`[{"call":"read"},{"call":"flaky","ignore":true},{"error":"wrong"}]`, "temporary", "error", 1, 2 * time.Hour},
		"the call's own error":          {`[{"call":"flaky"}]`, "temporary", "http_429", 0, 2 * time.Hour},
		"not ready yet":                 {`[{"not_yet":"soon"}]`, "temporary", "not_yet", -1, 10 * time.Minute},
		"not ready for a long time":     {`[{"not_yet":"later","after":3}]`, "temporary", "not_yet", -1, 3 * time.Hour},
		"a panic":                       {`[{"call":"read"},{"panic":"boom"}]`, "deterministic", "panic", -1, 0},
		"a panic behind a call to make": {`[{"call":"flaky","ignore":true},{"panic":"boom"}]`, "temporary", "panic", 0, 2 * time.Hour},
		"a denied call":                 {`[{"call":"once"}]`, "deterministic", "denied", -1, 0},
	} {
		begun := time.Now()
		r := b.start(w, "", `{"one":`+row.program+`}`)
		c := b.wait(r, 0)
		checkDocument(t, c)
		e := c.LastError
		if e == nil || e.Kind != row.kind || e.Retryable != (row.kind == "temporary") || e.Attempt != 1 || c.Step("one").Attempts != 1 {
			t.Errorf("%s: %+v", name, e)
			continue
		}
		if (e.Call == nil) != (row.call < 0) || (e.Call != nil && *e.Call != row.call) || e.Code != row.code {
			t.Errorf("%s: %s of call %v, want %s of %d", name, e.Code, e.Call, row.code, row.call)
		}
		if row.next == 0 {
			if c.State != pawl.StateFailed || !strings.Contains(c.Reasons[0].Sentence, "would fail the same way again") {
				t.Errorf("%s: state %s: %+v", name, c.State, c.Reasons)
			}
			if err := r.Resume(); !errors.Is(err, pawl.ErrDeterministic) {
				t.Errorf("%s: resume: %v", name, err)
			}
			continue
		}
		if c.State != pawl.StateWaiting {
			t.Errorf("%s: state %s: %+v", name, c.State, c.Reasons)
			continue
		}
		if at := *c.Reasons[0].At; at.Before(begun.Add(row.next)) || at.After(time.Now().Add(row.next)) {
			t.Errorf("%s: goes on after %s, want %s", name, at.Sub(begun), row.next)
		}
	}
}

// The back-off doubles from attempt to attempt up to its bound.
//
// Seen red with a constant one and without the bound.
func TestBackoffOfAttemptsDoubles(t *testing.T) {
	t.Parallel()
	var read counter
	b := setup(t, read.tool("read", host.Contract{Effect: host.Read}, func(int64, *host.Call) (any, error) { return nil, errors.New("down") }))
	w := b.deploy(folder(t, "", "tools = [\"read\"]\nretry = { attempts = 5, backoff = \"10m\", max_backoff = \"30m\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"}]}`)
	for attempt, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		c := b.wait(r, 0)
		if c.State != pawl.StateWaiting || c.Step("one").Attempts != attempt+1 {
			t.Fatalf("state %s, attempt %d", c.State, c.Step("one").Attempts)
		}
		// The failure and the time of the next attempt are a moment apart.
		if wait := c.Reasons[0].At.Sub(c.LastError.At); wait > want || wait < want-time.Minute {
			t.Errorf("after attempt %d: %s, want %s", attempt+1, wait, want)
		}
		if err := r.Resume(); err != nil {
			t.Fatal(err)
		}
	}
	if c := b.rest(r); c.State != pawl.StateFailed || read.sent.Load() != 5 {
		t.Errorf("state %s, sent %d times", c.State, read.sent.Load())
	}
}

// A step's input that cannot be made, and an output that does not fit, fail
// the step for good.
//
// Seen red with the output not checked.
func TestInputAndOutputThatDoNotFit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.deploy(folder(t, "", "output = { type = \"array\", maxItems = 0 }\nretry = { attempts = 3 }"))
	for input, code := range map[string]string{
		`{"one":[]}`:          "",
		`{"one":[{"big":1}]}`: "invalid_output",
		`{"two":[]}`:          "bad_input",
	} {
		c := b.rest(b.start(w, "", input))
		if code == "" {
			completed(t, c)
			continue
		}
		if c.State != pawl.StateFailed || c.LastError.Code != code || c.LastError.Kind != "deterministic" || c.Step("one").Attempts != 1 {
			t.Errorf("%s: state %s, %+v", input, c.State, c.LastError)
		}
	}
}
