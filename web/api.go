package web

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// The API's description, by hand: tests hold every answer against it.
//
//go:embed openapi.yaml
var openAPI []byte

// maxBody is how many bytes a request to the API can have, beside an input.
const maxBody = 1 << 20

// api are the routes of the JSON API.
func (s *server) api(g *echo.Group) {
	s.get(g, "/runs", s.listRuns)
	s.post(g, "/runs", pawl.MaxInput+maxBody, s.startRun)
	s.get(g, "/runs/:run", s.showRun)
	s.get(g, "/runs/:run/logs", s.showLogs)
	s.get(g, "/runs/:run/events", s.followRun)
	s.post(g, "/runs/:run/actions", maxBody, s.actOnRun)
	s.get(g, "/events", s.followRuns)
	s.get(g, "/workflows", s.listWorkflows)
	s.get(g, "/health", s.showHealth)
	s.post(g, "/recovery", maxBody, s.letRecoveryGo)
	s.get(g, "/openapi.yaml", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/yaml", openAPI)
	})
	s.get(g, "/checkpoint.schema.json", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/schema+json", pawl.CheckpointSchema())
	})
}

// post routes a request of a program that changes something; h gets its body.
// A page of another site cannot send one: neither the origin nor the media type
// would do.
func (s *server) post(g *echo.Group, path string, limit int64, h func(c echo.Context, body []byte) error) {
	g.POST(path, func(c echo.Context) error {
		if err := sameOrigin(c.Request()); err != nil {
			return err
		}
		body, err := readBody(c, echo.MIMEApplicationJSON, limit)
		if err != nil {
			return err
		}
		return h(c, body)
	})
}

// decode reads a body of one JSON object whose fields are all known.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		want := "an object"
		if mismatch.Field != "" {
			want = "a text" // all fields but those that take any JSON are
		}
		message := fmt.Sprintf("has to be %s, and is a JSON %s", want, mismatch.Value)
		return &fieldError{pointer("/" + strings.ReplaceAll(mismatch.Field, ".", "/")), message}
	case err != nil && strings.HasPrefix(err.Error(), "json: unknown field "):
		name := strings.Trim(strings.TrimPrefix(err.Error(), "json: unknown field "), `"`)
		return &fieldError{"/" + name, "there is no such field"}
	case err != nil:
		return fmt.Errorf("%w: no JSON object: %w", errRequest, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: something follows the JSON object", errRequest)
	}
	return nil
}

// pointer is a JSON Pointer; that of the whole document is empty.
func pointer(p string) string {
	if p == "/" {
		return ""
	}
	return p
}

// answer writes a JSON document.
func answer(c echo.Context, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.Blob(status, echo.MIMEApplicationJSON, body)
}
