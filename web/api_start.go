package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// startRequest asks for a run.
type startRequest struct {
	Workflow string          `json:"workflow"`
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input"`
}

// startRun begins a run, or finds the one that has the id already.
func (s *server) startRun(c echo.Context, body []byte) error {
	var req startRequest
	if err := decode(body, &req); err != nil {
		return err
	}
	if req.Workflow == "" {
		return &fieldError{"/workflow", "is missing: the name of a deployed workflow"}
	}
	if req.Input == nil {
		return &fieldError{"/input", "is missing"}
	}
	id, err := keyedID(c.Request().Header.Values("Idempotency-Key"), req.ID)
	if err != nil {
		return err
	}
	workflow, err := s.engine.Workflow(req.Workflow)
	if err != nil {
		return err
	}
	run, err := s.start(c, workflow, id, req.Input)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if run.Created() {
		status = http.StatusCreated
		c.Response().Header().Set(echo.HeaderLocation, runPath(run.ID()))
	}
	return s.document(c, status, run)
}

// start begins a run of the workflow for whoever asks.
func (s *server) start(c echo.Context, w *pawl.Workflow, id string, input json.RawMessage) (*pawl.Run, error) {
	run, err := pawl.Start(c.Request().Context(), w, id, input, nil)
	var wrong *pawl.InputError
	switch {
	case errors.As(err, &wrong):
		return nil, err
	case errors.Is(err, pawl.ErrInvalidInput): // the id, then
		return nil, &fieldError{"/id", detail(err)}
	case err != nil:
		return nil, err
	}
	if run.Created() {
		s.opts.Logger.Info("run started", keyRun, run.ID(), keyPrincipal, principal(c).Name)
	}
	return run, nil
}

// maxKey is how many bytes an idempotency key can have.
const maxKey = 512

// keyedID is the external id of a start: the one that is given, or the
// idempotency key in its place, as a token or as a quoted string. A key that is
// no external id is known by its hash. If both are given they have to agree.
func keyedID(keys []string, id string) (string, error) {
	if len(keys) == 0 {
		return id, nil
	}
	key := keys[0]
	if n := len(key); n >= 2 && key[0] == '"' && key[n-1] == '"' && !strings.ContainsAny(key[1:n-1], `"\`) {
		key = key[1 : n-1]
	}
	switch {
	case len(keys) > 1:
		return "", fmt.Errorf("%w: there are %d headers Idempotency-Key", errRequest, len(keys))
	case key == "" || len(key) > maxKey:
		return "", fmt.Errorf("%w: the Idempotency-Key has %d bytes: want 1 to %d", errRequest, len(key), maxKey)
	}
	if !pawl.IsExternalID(key) {
		sum := sha256.Sum256([]byte(key))
		key = "key-" + hex.EncodeToString(sum[:16])
	}
	if id != "" && id != key {
		return "", &fieldError{"/id", fmt.Sprintf("is %q, and the Idempotency-Key stands for the id %q: give one of them", id, key)}
	}
	return key, nil
}
