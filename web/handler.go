package web

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Handler returns the panel and the API of the engine. All its URLs are
// relative: mount it at / or under any prefix. What it is given begins with a
// slash, so the prefix that is stripped does not end with one:
//
//	mux.Handle("/ops/pawl/", http.StripPrefix("/ops/pawl", h))
//
// It is safe for concurrent use, starts no goroutine that outlives a request,
// and needs no closing.
//
// Streams of events last as long as the context of their request. A server that
// stops in good order ends that first:
//
//	ctx, end := context.WithCancel(context.Background())
//	server := &http.Server{Handler: h, BaseContext: func(net.Listener) context.Context { return ctx }}
//	server.RegisterOnShutdown(end)
//
// Otherwise Shutdown waits for every open page.
func Handler(engine Engine, opts *Options) http.Handler {
	_, e := newServer(engine, opts)
	return e
}

func newServer(engine Engine, opts *Options) (*server, *echo.Echo) {
	s := &server{engine: engine, turns: newTurns()}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	e := echo.New()
	e.HTTPErrorHandler = s.failed
	e.Pre(s.safe, s.guarded, s.rooted)
	s.pages(e.Group(""))
	s.api(e.Group("/api/v1"))
	return s, e
}

// server is what the handlers share.
type server struct {
	engine    Engine
	opts      Options
	templates templates
	turns     turns
}

// get routes a request that changes nothing.
func (s *server) get(g *echo.Group, path string, h echo.HandlerFunc) {
	g.GET(path, h)
	g.HEAD(path, h)
}

// form routes the post of a page's form; h is called when its token is right.
func (s *server) form(g *echo.Group, path string, h echo.HandlerFunc) {
	g.POST(path, func(c echo.Context) error {
		if err := s.readForm(c); err != nil {
			return err
		}
		return h(c)
	})
}
