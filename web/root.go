package web

import (
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

// rooted sends a request for the handler's root without its slash to the root
// with it: what a page links to is relative to that.
func (s *server) rooted(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.URL.Path != "" {
			return next(c)
		}
		asked, query, _ := strings.Cut(r.RequestURI, "?")
		to := "./" + path.Base(asked) + "/" // relative too: what stands before it is not known here
		if query != "" {
			to += "?" + query
		}
		c.Response().Header().Set(echo.HeaderLocation, to)
		return c.NoContent(http.StatusPermanentRedirect)
	}
}

// root is the relative address of the handler's root, as seen from the page that
// is asked for: "./" or "../" and so on.
func root(c echo.Context) string {
	up := strings.Count(strings.TrimPrefix(c.Request().URL.EscapedPath(), "/"), "/")
	if up == 0 {
		return "./"
	}
	return strings.Repeat("../", up)
}
