package web_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// The document's tag is its seq; what the client has is not sent again. What no
// record decides is part of the tag, since it changes while seq stays.
//
// Seen red with the digest left out of the tag.
func TestDocument(t *testing.T) {
	t.Parallel()
	f := setup(t, func(o *pawl.Options) { o.NoRecovery = true })
	s := serve(t, f.engine, nil)
	f.inState(pawl.StateFailed)
	first := s.get("api/v1/runs/failed").want(t, http.StatusOK)
	tag := first.Header.Get("ETag")
	var doc pawl.Checkpoint
	first.into(t, &doc)
	if tag != `"`+itoa(doc.Seq)+`"` {
		t.Errorf("ETag %s of seq %d", tag, doc.Seq)
	}
	for header, status := range map[string]int{
		tag: 304, "W/" + tag: 304, `"1", ` + tag: 304, "*": 304, `"1"`: 200, itoa(doc.Seq): 200, `"` + itoa(doc.Seq) + `-running"`: 200,
	} {
		r := s.get("api/v1/runs/"+doc.Run, "If-None-Match: "+header).want(t, status)
		if r.Header.Get("ETag") != tag || status == 304 && len(r.body) > 0 {
			t.Errorf("%s: ETag %s, %d bytes", header, r.Header.Get("ETag"), len(r.body))
		}
	}

	f.inState(pawl.StateWaiting)
	before := s.get("api/v1/runs/waiting").want(t, http.StatusOK)
	f.reopen(func(tool string, c *host.Contract) {
		if tool == "mail.send" {
			c.Effect = host.Keyed
		}
	})
	s = serve(t, f.engine, nil)
	after := s.get("api/v1/runs/waiting", "If-None-Match: "+before.Header.Get("ETag")).want(t, http.StatusOK)
	var was, is pawl.Checkpoint
	before.into(t, &was)
	after.into(t, &is)
	if was.Seq != is.Seq || is.State != pawl.StateIncompatible || !strings.HasPrefix(after.Header.Get("ETag"), `"`+itoa(is.Seq)+`-`) {
		t.Errorf("%s of seq %d and %d: ETag %s", is.State, was.Seq, is.Seq, after.Header.Get("ETag"))
	}
}

// A run that rests by its records is offered to people a moment later. That is
// another document, with another tag, and streams tell of it.
//
// Seen red with actions left out of the tag.
func TestTagTellsWhatCanBeDone(t *testing.T) {
	t.Parallel()
	doc := &pawl.Checkpoint{Seq: 23, State: pawl.StateWaiting, Reasons: []pawl.Reason{{Code: "timer"}}}
	leaving := web.Tag(t, doc)
	doc.Actions = []pawl.Action{{Action: "resume", Seen: "sha256:1"}}
	if rests := web.Tag(t, doc); rests == leaving {
		t.Errorf("%s with an action and without", rests)
	}
	doc.State, doc.Actions, doc.Differences = pawl.StateIncompatible, nil, []pawl.Difference{{Pin: "tool a"}}
	one := web.Tag(t, doc)
	doc.Differences = []pawl.Difference{{Pin: "tool b"}}
	if other := web.Tag(t, doc); one == other {
		t.Errorf("%s of two programs that do not fit for different reasons", one)
	}
}

// Resuming does one thing, however many ask for it at once.
//
// Seen red with what was seen not passed on.
func TestResume(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	run := f.inState(pawl.StateNeedsDecision)
	doc, err := run.Checkpoint()
	if err != nil || len(doc.Actions) != 0 {
		t.Fatalf("%+v, %v", doc, err)
	}

	waiting := f.inState(pawl.StateWaiting)
	if doc, err = waiting.Checkpoint(); err != nil || len(doc.Actions) != 1 {
		t.Fatalf("%+v, %v", doc, err)
	}
	order := doc.Labels["order"]
	f.world.tell("llm.complete", order, "ok")
	before := f.world.count("llm.complete", order)
	body := `{"action":"resume","seen":"` + doc.Actions[0].Seen + `"}`
	var did, refused int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := s.post("api/v1/runs/waiting/actions", body)
			mu.Lock()
			defer mu.Unlock()
			switch r.StatusCode {
			case http.StatusOK:
				did++
			case http.StatusConflict:
				refused++
				if code := r.problem(t).Code; code != "stale" && code != "already_running" {
					t.Errorf("refused as %s", code)
				}
			default:
				t.Errorf("%d %s", r.StatusCode, r.body)
			}
		})
	}
	wg.Wait()
	if did != 1 || refused != 7 {
		t.Errorf("%d did it, %d were refused", did, refused)
	}
	if c := f.rest(waiting); c.State != pawl.StateCompleted {
		t.Errorf("%s", c.State)
	}
	if n := f.world.count("llm.complete", order); n != before+1 {
		t.Errorf("asked %d times more", n-before)
	}
	if p := s.post("api/v1/runs/waiting/actions", body).want(t, http.StatusConflict).problem(t); p.Code != "stale" {
		t.Errorf("%+v", p)
	}
}

func TestActionRefusals(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	f.inState(pawl.StateFailed)
	for name, row := range map[string]struct {
		body, code string
		status     int
	}{
		"an action that there is not":     {`{"action":"explode"}`, "unknown_action", 422},
		"no action":                       {`{}`, "unknown_action", 422},
		"an action of another case":       {`{"action":"Resume"}`, "unknown_action", 422},
		"a field that there is not":       {`{"action":"resume","call":1}`, "invalid_input", 422},
		"a failure that would come again": {`{"action":"resume"}`, "deterministic", 409},
	} {
		r := s.post("api/v1/runs/failed/actions", row.body).want(t, row.status)
		if p := r.problem(t); p.Code != row.code || p.Hint == "" || row.status == 409 && p.Run == "" {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	s.post("api/v1/runs/nobody/actions", `{"action":"resume"}`).want(t, http.StatusNotFound)
}

// An act on a run that this program cannot go on with lists what differs.
func TestIncompatibleListsDifferences(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.inState(pawl.StateWaiting)
	f.reopen(func(tool string, c *host.Contract) {
		if tool == "mail.send" {
			c.Effect = host.Keyed
		}
	})
	s := serve(t, f.engine, nil)
	p := s.post("api/v1/runs/waiting/actions", `{"action":"resume"}`).want(t, http.StatusConflict).problem(t)
	if p.Code != "incompatible" || len(p.Differences) != 1 || p.Differences[0].Pin != "tool mail.send" || p.Run == "" {
		t.Errorf("%+v", p)
	}
}

// A recovery that was held back goes when it is let go.
func TestRecovery(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.inState(pawl.StateRunning)
	f.opts.Paused = true
	f.reopen(nil)
	s := serve(t, f.engine, nil)
	var health struct{ Paused bool }
	if s.get("api/v1/health").want(t, 200).into(t, &health); !health.Paused {
		t.Error("not paused")
	}
	f.world.release()
	s.post("api/v1/recovery", `{"now":true}`).want(t, http.StatusUnprocessableEntity)
	s.post("api/v1/recovery", ``).want(t, http.StatusOK).into(t, &health)
	if health.Paused {
		t.Error("still paused")
	}
	s.post("api/v1/recovery", `{}`).want(t, http.StatusOK)
	if c := f.rest(f.find("running")); c.State != pawl.StateCompleted {
		t.Errorf("%s", c.State)
	}
}

// What the engine has to say is said by programs and people alike, whatever its
// state.
func TestDocumentsOfTheEngine(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, state := range []pawl.RunState{pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting, pawl.StateRunning} {
		f.inState(state)
	}
	s := serve(t, f.engine, nil)
	for _, path := range []string{
		"runs", "runs/completed", "runs/failed", "runs/needs_decision", "runs/waiting", "runs/running",
		"runs/completed/logs", "workflows", "health", "openapi.yaml", "checkpoint.schema.json",
	} {
		s.get("api/v1/"+path).want(t, http.StatusOK)
	}
	if err := f.engine.Close(); err != nil {
		t.Fatal(err)
	}
	if r := s.post("api/v1/runs", startBody("late", order)).want(t, http.StatusServiceUnavailable); r.problem(t).Code != "closed" {
		t.Errorf("%s", r.body)
	}
}
