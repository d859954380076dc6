package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/web"
)

// Limits of connections. There is none for a whole answer: streams of events
// last for as long as somebody looks.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	// lingering is how long a stop waits for requests that are being answered
	// when the engine has ended.
	lingering = 2 * time.Second
)

// front answers HTTP requests from the first moment to the last: while there is
// no server behind it, it says so.
type front struct {
	http   *http.Server
	addr   net.Addr
	server atomic.Pointer[server]
	// streams ends, by end, the requests that would last.
	streams context.Context
	end     context.CancelFunc
	logger  *slog.Logger

	served sync.WaitGroup
	failed chan struct{} // closed when err is set
	err    error
}

// openFront answers at the listener, which is the front's from then on.
func openFront(listener net.Listener, logger *slog.Logger) *front {
	streams, end := context.WithCancel(context.Background())
	f := &front{addr: listener.Addr(), streams: streams, end: end, logger: logger, failed: make(chan struct{})}
	f.http = newHTTP(streams, f.routes(), logger)
	f.served.Go(func() {
		if err := f.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.err = err
			close(f.failed)
		}
	})
	return f
}

// newHTTP is a server with the limits of all.
func newHTTP(base context.Context, handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog:    slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// ending ends the requests to h that would last when those at the front end.
func (f *front) ending(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(f.streams, cancel)()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// close ends all requests and waits for them, but not for ever.
func (f *front) close() error {
	f.end()
	err := shutDown(f.http)
	f.served.Wait()
	return err
}

func shutDown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), lingering)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close()
}

func (f *front) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := f.unready(); why != "" {
			answer(w, http.StatusServiceUnavailable, "not ready: "+why)
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.HandleFunc("GET /metrics", f.behind(func(s *server) http.Handler { return s.instruments.metrics }))
	mux.HandleFunc("/", f.behind(func(s *server) http.Handler { return s.panel }))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !web.LoopbackHost(r.Host) {
			answer(w, http.StatusForbidden, "this server answers only requests to a loopback host, such as http://"+f.addr.String()+"/")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// behind hands requests to a part of the server, as soon as there is one.
func (f *front) behind(part func(*server) http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := f.server.Load()
		if s == nil {
			w.Header().Set("Retry-After", "1")
			answer(w, http.StatusServiceUnavailable, "the server is starting")
			return
		}
		part(s).ServeHTTP(w, r)
	}
}

// unready says why the server should be given no work; empty if it may.
func (f *front) unready() string {
	s := f.server.Load()
	if s == nil {
		return "the server is starting"
	}
	return s.unready()
}

// answer writes a line of text.
func answer(w http.ResponseWriter, status int, line string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(line + "\n")) // who has gone does not read it
}
