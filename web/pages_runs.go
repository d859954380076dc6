package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// runsPage lists runs.
func (s *server) runsPage(c echo.Context) error {
	f := newFilter(c.QueryParams())
	list, err := s.list(c.Request().Context(), &f.Query)
	if err != nil {
		return err
	}
	now := time.Now()
	v := newRunsView(list, f, now)
	health := s.engine.Health()
	v.Alarm = newAlarm(&health)
	if v.Empty {
		if v.Workflow, err = s.anyWorkflow(); err != nil {
			return err
		}
	}
	p := s.newPage(c, pageRuns, "Runs", v)
	return s.render(c, http.StatusOK, pageRuns, p.live(f.with("cursor", f.After), "api/v1/events"))
}

// anyWorkflow is where a run of some workflow is started, or empty.
func (s *server) anyWorkflow() (string, error) {
	all, err := s.engine.Workflows()
	if err != nil || len(all) == 0 {
		return "", err
	}
	return startPath(all[0].Name), nil
}

// runPage shows a run.
func (s *server) runPage(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	return s.showRunPage(c, http.StatusOK, run, nil)
}

func (s *server) showRunPage(c echo.Context, status int, run *pawl.Run, n *notice) error {
	doc, err := run.Checkpoint()
	if err != nil {
		return err
	}
	logs, err := run.Logs()
	if err != nil {
		return err
	}
	v := newRunView(doc, logs, time.Now())
	path := runPath(doc.Run)
	p := s.newPage(c, pageRuns, v.Title, v).live(path, "api/v1/"+path+"/events")
	p.Notice = n
	return s.render(c, status, pageRun, p)
}

// resumeForm goes on with a run. Whoever was shown something else than there is
// now is shown that, and nothing is done.
func (s *server) resumeForm(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	err = run.Act(c.Request().Context(), principal(c), pawl.Resume{Seen: c.Request().PostFormValue("seen")})
	if err == nil {
		return see(c, runPath(run.ID()))
	}
	p := s.problemOf(err)
	if p.Status >= http.StatusInternalServerError || errors.Is(err, pawl.ErrNotFound) {
		return err
	}
	text := "Nothing was done: " + p.Detail + ". " + p.Hint
	if p.Code == "stale" {
		text = "Somebody, or the run itself, was faster. Nothing was done for you; below is how the run stands now."
	}
	return s.showRunPage(c, p.Status, run, &notice{Title: problemTitle(p), Text: text, Tone: "wait"})
}

// runBody is the whole of a body of which a page shows the beginning.
func (s *server) runBody(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	doc, err := run.Checkpoint()
	if err != nil {
		return err
	}
	raw := bodyOf(doc, c.QueryParams())
	if raw == nil {
		return errNoPage
	}
	return c.Blob(http.StatusOK, "text/plain; charset=utf-8", []byte(visibleJSON(pretty(raw))))
}

// bodyOf finds a body in a document; nil if there is none.
func bodyOf(doc *pawl.Checkpoint, q url.Values) json.RawMessage {
	step := doc.Step(q.Get("step"))
	switch of := q.Get("of"); {
	case of == "input":
		return doc.Input
	case of == "output" && !q.Has("step"):
		return doc.Output()
	case of == "output" && step != nil:
		return step.Output
	}
	call := callOf(doc, step, q)
	switch {
	case call == nil:
		return nil
	case q.Get("of") == "request":
		return call.Request
	case q.Get("of") == "response" && call.Receipt != nil:
		return call.Receipt.Response
	}
	return nil
}

func callOf(doc *pawl.Checkpoint, step *pawl.StepCheckpoint, q url.Values) *pawl.CallCheckpoint {
	number := func(list string) (int, bool) {
		i, err := strconv.Atoi(strings.TrimSpace(q.Get(list)))
		return i, err == nil && i >= 0
	}
	if i, ok := number("orphan"); ok && i < len(doc.Orphans) {
		return &doc.Orphans[i].CallCheckpoint
	}
	if step == nil {
		return nil
	}
	if i, ok := number("call"); ok && i < len(step.Calls) {
		return &step.Calls[i]
	}
	if i, ok := number("unclaimed"); ok && i < len(step.Unclaimed) {
		return &step.Unclaimed[i]
	}
	return nil
}
