package main

import (
	"log/slog"
	"net/http"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// instruments are what a server tells of itself to those who measure.
type instruments struct{}

// newInstruments opens them. The logger is told what cannot be exported.
func newInstruments(*slog.Logger) (*instruments, error) { return &instruments{}, nil }

// observe is an observer of the engine. It never blocks.
func (*instruments) observe(pawl.Event) {}

// watch begins to measure the engine.
func (*instruments) watch(*pawl.Engine) error { return nil }

// metrics answers those who scrape.
func (*instruments) metrics() http.Handler { return http.NotFoundHandler() }

// close exports what is left, within a bound.
func (*instruments) close() error { return nil }
