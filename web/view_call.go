package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// callView is a call of a step.
type callView struct {
	ID      string
	N       int
	Step    string // of an orphan
	Tool    string
	Class   string
	Outcome badge
	Tries   string
	Attempt string // which made it; empty if there was only one
	Marked  bool   // it is why the run does not move
	Key     string // its beginning
	After   string // how long after its step began it was answered, by the clock that the guest sees
	At      *moment
	Notes   []string
	Facts   []callFact
	Message string
	Request *bodyView
	Answer  *bodyView
}

// callFact is a line of what is known about a call.
type callFact struct {
	Name, Value string
	Link        string // relative to the root; empty for none
}

// place is where a call stands in its document.
type place struct {
	path string // of the run
	step string
	list string // call, unclaimed or orphan
	i    int
}

func (p place) id() string { return fmt.Sprintf("%s-%s-%d", p.list, p.step, p.i) }

// body is where the whole of a body of the call is.
func (p place) body(of string) string {
	q := url.Values{"of": {of}, "step": {p.step}, p.list: {fmt.Sprint(p.i)}}
	return p.path + "/body?" + q.Encode()
}

func newCallView(c *pawl.CallCheckpoint, p place, began, now time.Time) callView {
	v := callView{
		ID: p.id(), N: c.N, Tool: c.Tool, Class: cmp.Or(c.Effect, "refused"), Outcome: outcomeBadge(c), Notes: notes(c), Facts: facts(c),
		Message: c.Message, Request: body(c.Request, p.body("request")), Attempt: fmt.Sprintf("attempt %d", c.Attempt),
	}
	switch {
	case c.Tries == 1:
		v.Tries = "1 try"
	case c.Tries > 1:
		v.Tries = fmt.Sprintf("%d tries", c.Tries)
	}
	if len(c.Key) > 8 {
		v.Key = c.Key[:8] + "…"
	}
	if c.Receipt != nil {
		v.At = at(c.Receipt.At, now)
		v.Answer = body(c.Receipt.Response, p.body("response"))
		if !began.IsZero() {
			v.After = "+" + lasted(c.Receipt.At.Sub(began))
		}
	}
	return v
}

// notes are what is out of the ordinary with a call, in a few words each.
func notes(c *pawl.CallCheckpoint) (out []string) {
	if c.Status != "" && c.Status != "ok" && c.Status != c.Outcome {
		out = append(out, "the step was told: "+words(c.Status))
	}
	if c.Claimed {
		out = append(out, "done by an earlier attempt, not sent again")
	}
	if c.Borrowed != "" {
		out = append(out, "made by another run with the same business key")
	}
	if c.Receipt != nil && c.Receipt.Verified {
		out = append(out, "learnt by asking the receiver")
	}
	if c.Compensation != nil {
		out = append(out, "can be undone by "+c.Compensation.Tool)
	}
	if c.Receipt != nil {
		for _, unit := range slices.Sorted(maps.Keys(c.Receipt.Units)) {
			out = append(out, grouped(c.Receipt.Units[unit])+" "+words(unit))
		}
	}
	return out
}

// exactly is a time by the clock on the wall; empty for none.
func exactly(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05.000000 MST")
}

// facts are everything that the document has about a call but its bodies.
func facts(c *pawl.CallCheckpoint) (out []callFact) {
	add := func(name, value string) {
		if value != "" {
			out = append(out, callFact{Name: name, Value: value})
		}
	}
	add("tool of the operator", c.Use)
	add("class", c.Effect)
	add("key", c.Key)
	if c.Generation > 0 {
		add("generation of the key", fmt.Sprint(c.Generation))
	}
	add("business key", c.BusinessKey)
	add("receiver", c.Receiver)
	add("outcome", words(c.Outcome))
	add("told to the step", words(c.Status))
	add("first try", exactly(c.FirstTry))
	if c.Tries > 1 {
		add("last try", exactly(c.LastTry))
	}
	add("code", c.Code)
	if c.Receipt != nil {
		if c.Receipt.Status != 0 {
			add("status of the answer", fmt.Sprint(c.Receipt.Status))
		}
		add("answered", exactly(c.Receipt.At))
	}
	if c.Borrowed != "" {
		out = append(out, callFact{Name: "made by run", Value: c.Borrowed, Link: runPath(c.Borrowed)})
	}
	if c.Compensation != nil {
		add("compensation", c.Compensation.Tool+", "+words(c.Compensation.State))
	}
	add("request hash", c.RequestHash)
	if !strings.EqualFold(c.ShownHash, c.RequestHash) {
		add("hash of what is sent", c.ShownHash)
	}
	return out
}
