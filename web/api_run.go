package web

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// find returns the run that the address names, as [pawl.Engine.Find] does. What
// can name none is not looked for.
func (s *server) find(c echo.Context) (*pawl.Run, error) {
	ref := c.Param("run")
	if !pawl.IsExternalID(ref) {
		return nil, fmt.Errorf("%w: no run can be called %.80q", pawl.ErrNotFound, ref)
	}
	return s.engine.Find(ref)
}

func (s *server) showRun(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	return s.document(c, http.StatusOK, run)
}

// document answers with the run's checkpoint document, or that the client has
// it.
func (s *server) document(c echo.Context, status int, run *pawl.Run) error {
	doc, err := run.Checkpoint()
	if err != nil {
		return err
	}
	tag, err := etag(doc)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", tag)
	if c.Request().Method != http.MethodPost && has(c.Request().Header.Values("If-None-Match"), tag) {
		return c.NoContent(http.StatusNotModified)
	}
	return answer(c, status, doc)
}

// etag is the document's: its seq, and a digest of what can change while seq
// stays, if there is such. That is also what may be done: nothing as long as the
// run is on its way out of memory, although its records say already that it rests.
func etag(doc *pawl.Checkpoint) (string, error) {
	if !doc.State.Derived() && len(doc.Actions) == 0 {
		return fmt.Sprintf(`"%d"`, doc.Seq), nil
	}
	text, err := json.Marshal([]any{doc.State, doc.Reasons, doc.Actions, doc.Differences})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return fmt.Sprintf(`"%d-%x"`, doc.Seq, sum[:8]), nil
}

// has reports whether a header If-None-Match lists the tag.
func has(headers []string, tag string) bool {
	for listed := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		listed = strings.TrimPrefix(strings.TrimSpace(listed), "W/")
		if listed == tag || listed == "*" {
			return true
		}
	}
	return false
}

func (s *server) showLogs(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	lines, err := run.Logs()
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, map[string]any{"items": lines})
}

// runPause is the least time between two events of a run.
const runPause = 250 * time.Millisecond

// followRun streams how the run stands, now and after each change. Several
// changes may be one event.
func (s *server) followRun(c echo.Context) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	changed, stop := s.engine.Watch(run.ID())
	defer stop()
	if _, err := run.Checkpoint(); err != nil {
		return err // a problem, while it still can be one
	}
	known, err := strconv.ParseUint(c.Request().Header.Get("Last-Event-ID"), 10, 64)
	if err != nil {
		known = 0 // no seq that the client could have
	}
	last := ""
	return follow(c, changed, runPause, func(st *stream) error {
		doc, err := run.Checkpoint()
		if err != nil {
			return err
		}
		if doc.Seq == known && last == "" && !doc.State.Derived() {
			return nil
		}
		tag, err := etag(doc)
		if err != nil || tag == last {
			return err
		}
		last = tag
		data, err := json.Marshal(doc.Summary())
		if err != nil {
			return err
		}
		return st.send("checkpoint", strconv.FormatUint(doc.Seq, 10), data)
	})
}

// actRequest asks for an act of a person.
type actRequest struct {
	Action string `json:"action"`
	Seen   string `json:"seen"`
}

var errAction = errors.New("unknown action")

// actOnRun does what a person asks for and answers with how the run stands then.
func (s *server) actOnRun(c echo.Context, body []byte) error {
	run, err := s.find(c)
	if err != nil {
		return err
	}
	var req actRequest
	if err := decode(body, &req); err != nil {
		return err
	}
	if req.Action != "resume" {
		return fmt.Errorf("%w %q: want resume", errAction, req.Action)
	}
	if err := run.Act(c.Request().Context(), principal(c), pawl.Resume{Seen: req.Seen}); err != nil {
		return err
	}
	return s.document(c, http.StatusOK, run)
}
