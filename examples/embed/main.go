// Command embed shows Pawl inside another program: an HTTP server that takes
// orders and enters each into its books exactly once, also if it is killed in
// the middle. It does not need Pawl's command line, nor another server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:7740", "address to listen on")
	dir := flag.String("data", ".pawl", "where the store and the books are kept")
	folder := flag.String("workflow", ".", "folder of the workflow")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *dir, *folder, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve runs the shop until ctx ends, and leaves every run resumable. wrap, if
// it is not nil, changes the books' handling of an entry, for tests.
func serve(ctx context.Context, listen, dir, folder string, wrap func(enterFunc) enterFunc) (err error) {
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := openShop(ctx, dir, folder, logger, wrap)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	fmt.Println("listening", l.Addr())
	// The panel's open pages hold streams of events, which a server that stops in
	// good order ends first. An order that gets no answer then is posted again.
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return requests },
	}
	server.RegisterOnShutdown(end)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(grace)
}
