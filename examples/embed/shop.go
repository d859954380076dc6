package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
	"github.com/pawl-dev/pawl/web"
)

// shop is what the server works with.
type shop struct {
	books    *books
	store    kv.Store
	engine   *pawl.Engine
	workflow *pawl.Workflow
}

// openShop opens the store and the engine, which goes on with the orders that an
// earlier process left open.
func openShop(ctx context.Context, dir, folder string, logger *slog.Logger, wrap func(enterFunc) enterFunc) (s *shop, err error) {
	s = new(shop)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return s, err
	}
	if s.books, err = openBooks(filepath.Join(dir, "books.jsonl")); err != nil {
		return s, err
	}
	tools, err := host.NewRegistry(s.books.tool(wrap))
	if err != nil {
		return s, err
	}
	if s.store, err = kv.Open(filepath.Join(dir, "store"), nil); err != nil {
		return s, err
	}
	if s.engine, err = pawl.Open(ctx, s.store, &pawl.Options{Tools: tools, Logger: logger}); err != nil {
		return s, err
	}
	s.workflow, err = s.deploy(ctx, folder)
	return s, err
}

// deploy builds the steps and makes the workflow known. A program that is
// shipped would embed the built module and deploy that.
func (s *shop) deploy(ctx context.Context, folder string) (*pawl.Workflow, error) {
	out := filepath.Join(folder, "shop.wasm")
	if _, err := build.Module(ctx, &build.Options{Dir: folder, Package: "./shop", Out: out}); err != nil {
		return nil, err
	}
	return s.engine.Deploy(ctx, os.DirFS(folder))
}

func (s *shop) close() (err error) {
	if s.engine != nil {
		err = s.engine.Close()
	}
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if s.books != nil {
		err = errors.Join(err, s.books.close())
	}
	return err
}

// order is what a client sends.
type order struct {
	ID    string `json:"id"`
	Item  string `json:"item"`
	Cents int64  `json:"cents"`
}

// panelPath is where the panel is mounted; every prefix will do.
const panelPath = "/ops/pawl/"

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.take)
	mux.HandleFunc("GET /orders/{id}", s.show)
	// Without Options.Authorize the panel is for people on this machine.
	mux.Handle(panelPath, http.StripPrefix(strings.TrimSuffix(panelPath, "/"), web.Handler(s.engine, nil)))
	return mux
}

// take starts the order's run. A client that got no answer sends the order again
// and gets the same run: the order's id is the run's. When it answers, the order
// is durable.
func (s *shop) take(w http.ResponseWriter, r *http.Request) {
	var o order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&o); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if o.ID == "" {
		http.Error(w, "an order needs an id", http.StatusBadRequest)
		return
	}
	_, err := pawl.Start(r.Context(), s.workflow, "order-"+o.ID, o, nil)
	switch {
	case errors.Is(err, pawl.ErrInputConflict):
		http.Error(w, "there is another order with this id", http.StatusConflict)
	case errors.Is(err, pawl.ErrInvalidInput):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Location", "/orders/"+o.ID)
		w.WriteHeader(http.StatusAccepted)
	}
}

// show answers with the run's checkpoint document.
func (s *shop) show(w http.ResponseWriter, r *http.Request) {
	run, err := s.engine.Find("order-" + r.PathValue("id"))
	if errors.Is(err, pawl.ErrNotFound) {
		http.NotFound(w, r)
		return
	}
	var c *pawl.Checkpoint
	if err == nil {
		c, err = run.Checkpoint()
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("the order cannot be read now: %v", err), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(c)
}
