package web

import (
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"
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

// HintOf is what to do next, by the code of an error.
var HintOf = hintOf

// Indent is what pages use.
func Indent(raw json.RawMessage, most int) (text string, whole bool) { return indent(raw, most) }
