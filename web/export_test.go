package web

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Probes is a handler with routes for tests beside its own: a form and its
// token, and bugs.
func Probes(engine Engine, opts *Options) http.Handler {
	s, e := newServer(engine, opts)
	g := e.Group("")
	s.get(g, "/probe/token", func(c echo.Context) error { return c.String(http.StatusOK, s.csrf(c)) })
	s.form(g, "/probe/form", func(c echo.Context) error { return c.String(http.StatusOK, "did "+c.FormValue("what")) })
	s.get(g, "/probe/panic", func(echo.Context) error { panic("a secret of the bug") })
	s.get(g, "/api/v1/probe/panic", func(echo.Context) error { panic("a secret of the bug") })
	s.get(g, "/probe/root/:a/:b", func(c echo.Context) error { return c.String(http.StatusOK, root(c)) })
	return e
}

// Tag is the ETag of a document.
func Tag(t *testing.T, doc *pawl.Checkpoint) string {
	t.Helper()
	tag, err := etag(doc)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// HintOf is what to do next, by the code of an error.
var HintOf = hintOf

// Indent is what pages use.
func Indent(raw json.RawMessage, most int) (text string, whole bool) { return indent(raw, most) }
