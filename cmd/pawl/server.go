package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// server is an engine that people and programs reach while it has the data
// directory.
type server struct {
	*workplace
	front       *front
	hub         hub
	socket      *socket
	http        *http.Server // behind the socket
	served      sync.WaitGroup
	panel       http.Handler
	instruments *instruments
	stopping    atomic.Bool
}

// openServer opens the data directory and goes on with its runs, unless opts
// say otherwise.
func openServer(ctx context.Context, g *Globals, f *front, opts pawl.Options) (s *server, err error) {
	s = &server{front: f}
	if s.instruments, err = newInstruments(f.logger); err != nil {
		return nil, err
	}
	opts.Observer = func(e pawl.Event) {
		s.instruments.Observe(e)
		s.hub.observe(e)
	}
	if s.workplace, err = g.openStore(ctx, opts); err != nil {
		return nil, errors.Join(err, s.instruments.close())
	}
	if err = s.instruments.watch(s.Engine); err != nil {
		s.close(&err)
		return nil, err
	}
	name, _ := os.Hostname() // without one it is called as the request calls it
	s.panel = web.Handler(s.Engine, &web.Options{Name: name, Logger: f.logger})
	if err = s.listen(g.Data, &web.Options{Name: name, Logger: f.logger, Authorize: owner}); err != nil {
		s.close(&err)
		return nil, err
	}
	return s, nil
}

// owner is who comes through the socket.
func owner(*http.Request) (pawl.Principal, error) { return principal(), nil }

// listen makes the socket. It answers when the server begins.
func (s *server) listen(data string, opts *web.Options) (err error) {
	if data, err = filepath.Abs(data); err == nil {
		s.socket, err = openSocket(data)
	}
	if err != nil {
		return otherwise(fmt.Errorf("no socket can be made for commands: %w", err), "no_socket",
			"look at the data directory and at where temporary files are (TMPDIR)", statusUnavailable)
	}
	d := &desk{
		keeper: s.workplace, hub: &s.hub, stopping: s.stopping.Load,
		hello: hello{Protocol: protocol, PID: os.Getpid(), Data: data, Version: readVersion()},
	}
	panel := web.Handler(s.Engine, opts)
	s.http = newHTTP(context.Background(), d.routes(s.front.ending(panel)), s.front.logger)
	return nil
}

// begin lets requests in.
func (s *server) begin() {
	s.front.server.Store(s)
	s.served.Go(func() {
		if err := s.http.Serve(s.socket); !errors.Is(err, http.ErrServerClosed) {
			s.front.logger.Error("the socket is lost", "error", err)
		}
	})
	open := 0
	if h := s.Health(); h.Recovery != nil {
		open = h.Recovery.Open
	}
	s.front.logger.Info("serving", "url", s.url(), "pid", os.Getpid(), "open_runs", open)
}

func (s *server) url() string { return "http://" + s.front.addr.String() + "/" }

// announce says on standard output where the server is.
func (s *server) announce(g *Globals) error {
	if g.JSON {
		return g.printJSON(map[string]any{"url": s.url(), "listen": s.front.addr.String(), "data": g.Data, "socket": s.socket.path, "pid": os.Getpid()})
	}
	_, err := fmt.Fprintf(g.stdout, "The panel is at %s\n", s.url())
	return err
}

// unready says why the server should be given no work; empty if it may.
func (s *server) unready() string {
	if s.stopping.Load() {
		return "the server is stopping"
	}
	if h := s.Health().Store; h.Condition != kv.Healthy {
		return cmp.Or(h.Reason, "the store is not well")
	}
	return ""
}

// close stops in good order: nobody is told that the server can be given work,
// streams end, calls in flight may finish, every run is left resumable. A
// failure becomes the command's error.
func (s *server) close(err *error) {
	s.stopping.Store(true)
	s.front.logger.Info("stopping", "grace", grace.String())
	s.front.end()
	*err = errors.Join(*err, s.Engine.Close(), s.unlisten())
	s.workplace.close(err) // the engine is closed, the store is not
	*err = errors.Join(*err, s.front.close(), s.instruments.close())
	s.front.logger.Info("stopped")
}

// unlisten ends the socket when the engine has ended: commands that wait for
// runs have been told how these stand. The data directory is still locked.
func (s *server) unlisten() error {
	if s.socket == nil {
		return nil
	}
	err := shutDown(s.http)
	s.served.Wait()
	return errors.Join(err, s.socket.close())
}
