package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// workflowsPage lists the workflows with their versions.
func (s *server) workflowsPage(c echo.Context) error {
	all, err := s.engine.Workflows()
	if err != nil {
		return err
	}
	p := s.newPage(c, pageWorkflows, "Workflows", newWorkflowsView(all, time.Now()))
	return s.render(c, http.StatusOK, pageWorkflows, p)
}

// startPage shows the form that starts a run.
func (s *server) startPage(c echo.Context) error {
	_, v, err := s.startView(c)
	if err != nil {
		return err
	}
	v.Once = rand.Text()
	return s.showStart(c, http.StatusOK, v)
}

// startView finds the workflow that the address names, with an empty form.
func (s *server) startView(c echo.Context) (*pawl.Workflow, *startView, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return nil, nil, errNoPage
	}
	w, err := s.engine.Workflow(name)
	if err != nil {
		return nil, nil, err
	}
	all, err := s.engine.Workflows()
	if err != nil {
		return nil, nil, err
	}
	var input json.RawMessage
	for i := range all {
		if all[i].Digest == w.Digest() {
			input = all[i].Input
		}
	}
	return w, newStartView(w.Name(), w.Version(), input, c.QueryParam("as") == "json"), nil
}

func (s *server) showStart(c echo.Context, status int, v *startView) error {
	p := s.newPage(c, pageWorkflows, "Start "+v.Workflow, v)
	p.typed = true
	return s.render(c, status, pageStart, p)
}

// startForm starts a run. What was typed comes back with what is wrong with it.
func (s *server) startForm(c echo.Context) error {
	w, v, err := s.startView(c)
	if err != nil {
		return err
	}
	form := c.Request().PostForm
	input, ok := v.read(form)
	if !ok {
		return s.showStart(c, http.StatusUnprocessableEntity, v)
	}
	id := v.ExternalID
	if id == "" {
		id = onceID(v.Once, w.Name(), input)
	}
	run, err := s.start(c, w, id, input)
	if err == nil {
		return see(c, runPath(run.ID()))
	}
	p := s.problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		return err
	}
	v.fails(p)
	return s.showStart(c, p.Status, v)
}

// onceID is the id of a run that was given none: the same page with the same
// input starts one run, however often its button is pressed.
func onceID(once, workflow string, input json.RawMessage) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %s", once, workflow, input))
	return "form-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}

// healthPage shows how the engine and its store are.
func (s *server) healthPage(c echo.Context) error {
	h := s.engine.Health()
	p := s.newPage(c, pageHealth, "Health", newHealthView(&h, time.Now()))
	return s.render(c, http.StatusOK, pageHealth, p.live("health", "api/v1/events"))
}

// recoverForm lets a paused recovery go.
func (s *server) recoverForm(c echo.Context) error {
	if err := s.recover(c); err != nil {
		return err
	}
	return see(c, "./")
}
