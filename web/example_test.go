package web_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// The panel in a program of net/http, for the program's own staff. Streams of
// events end when the server stops.
func ExampleHandler() {
	engine, end := exampleEngine()
	defer end()
	staff := func(r *http.Request) (pawl.Principal, error) {
		name, _, ok := r.BasicAuth() // here the program's own logins are looked at
		if !ok {
			return pawl.Principal{}, errors.New("nobody is logged in")
		}
		return pawl.Principal{Name: name, Roles: []string{"operator"}}, nil
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/pawl/", http.StripPrefix("/ops/pawl", web.Handler(engine, &web.Options{Authorize: staff})))

	ctx, endStreams := context.WithCancel(context.Background())
	server := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return ctx }}
	server.RegisterOnShutdown(endStreams)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()

	url := "http://ana@" + listener.Addr().String() + "/ops/pawl/api/v1/runs"
	fmt.Println(status(http.Get(url)))
	fmt.Println(status(http.Get("http://" + listener.Addr().String() + "/ops/pawl/")))
	fmt.Println(server.Shutdown(context.Background()), <-served)
	// Output:
	// 200 OK
	// 403 Forbidden
	// <nil> http: Server closed
}

// The panel in a program of Echo's. Without Authorize it answers only requests
// of this machine.
func ExampleHandler_echo() {
	engine, end := exampleEngine()
	defer end()
	program := echo.New()
	panel := echo.WrapHandler(http.StripPrefix("/ops/pawl", web.Handler(engine, nil)))
	program.Any("/ops/pawl", panel)
	program.Any("/ops/pawl/*", panel)

	server := httptest.NewServer(program)
	defer server.Close()
	fmt.Println(status(http.Get(server.URL + "/ops/pawl/")))
	// Output: 200 OK
}

// The panel in a program of chi's.
func ExampleHandler_chi() {
	engine, end := exampleEngine()
	defer end()
	program := chi.NewRouter()
	program.Mount("/ops/pawl", http.StripPrefix("/ops/pawl", web.Handler(engine, nil)))

	server := httptest.NewServer(program)
	defer server.Close()
	fmt.Println(status(http.Get(server.URL + "/ops/pawl/")))
	// Output: 200 OK
}

func status(resp *http.Response, err error) string {
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	return resp.Status
}

// exampleEngine is an engine on a store of its own.
func exampleEngine() (engine *pawl.Engine, end func()) {
	dir, err := os.MkdirTemp("", "pawl-example")
	if err != nil {
		panic(err)
	}
	store, err := kv.Open(dir, nil)
	if err != nil {
		panic(err)
	}
	if engine, err = pawl.Open(context.Background(), store, nil); err != nil {
		panic(err)
	}
	return engine, func() {
		http.DefaultClient.CloseIdleConnections()
		_ = errors.Join(engine.Close(), store.Close(), os.RemoveAll(dir))
	}
}
