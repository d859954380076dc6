package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Handler returns the panel and the API of the engine. All its URLs are
// relative: mount it under any prefix that ends with a slash, stripped from what
// it is given (http.StripPrefix). It is safe for concurrent use, starts no
// goroutine that outlives a request, and needs no closing.
func Handler(engine Engine, opts *Options) http.Handler {
	s := &server{engine: engine}
	if opts != nil {
		s.opts = *opts
	}
	e := echo.New()
	s.pages(e.Group(""))
	s.api(e.Group("/api/v1"))
	return e
}

// server is what the handlers share.
type server struct {
	engine Engine
	opts   Options
}
