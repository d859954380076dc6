package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// grace is how long a command that is told to stop waits for calls in flight.
const grace = 5 * time.Second

// open opens the data directory, which is made if it is missing, or finds the
// server that has it open. No run is recovered here: a command moves only the
// run that it names. Of opts a server takes the observer alone.
func (g *Globals) open(ctx context.Context, opts pawl.Options) (keeper, error) {
	opts.NoRecovery = true
	w, err := g.openStore(ctx, opts)
	if err == nil {
		return w, nil
	}
	if errors.Is(err, kv.ErrStoreLocked) {
		if r, failed := g.dial(ctx, opts.Observer); r != nil || failed != nil {
			return r, failed
		}
	}
	return nil, err
}

// openStore opens the data directory with an engine on it.
func (g *Globals) openStore(ctx context.Context, opts pawl.Options) (*workplace, error) {
	store, err := kv.Open(g.Data, nil)
	if err != nil {
		err = fmt.Errorf("the data directory %s cannot be opened: %w", g.Data, err)
		if hint := rightsHint(g.Data, err); hint != "" {
			return nil, &problem{Code: "store_unavailable", Message: message(err), Hint: hint, Status: statusUnavailable}
		}
		return nil, otherwise(err, "store_unavailable",
			"look at the directory, or use another one with --data DIR or PAWL_DATA", statusUnavailable)
	}
	opts.CacheDir, opts.Grace = g.cacheDir(), grace
	engine, err := pawl.Open(ctx, store, &opts)
	if err != nil {
		return nil, otherwise(errors.Join(err, store.Close()), "store_unavailable",
			"use the data directory with the version of pawl that wrote it, or another one with --data DIR", statusUnavailable)
	}
	return &workplace{Engine: engine, store: store, deployed: map[string]*pawl.Workflow{}}, nil
}

// openExisting is open for commands that need what is there already.
func (g *Globals) openExisting(ctx context.Context, opts pawl.Options) (keeper, error) {
	if !g.exists() {
		return nil, &problem{
			Code: "not_found", Message: fmt.Sprintf("there is no run yet: the data directory %s has no store", g.Data),
			Hint: "start one with pawl run DIR --input FILE, or name another directory with --data DIR or PAWL_DATA", Status: statusUsage,
		}
	}
	return g.open(ctx, opts)
}

// exists reports whether the data directory has a store, or what is left of one.
func (g *Globals) exists() bool {
	for _, name := range []string{"STORE", "MANIFEST", "KEYREGISTRY"} {
		if _, err := os.Stat(filepath.Join(g.Data, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
