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

// workplace is the store of the data directory with an engine on it.
type workplace struct {
	*pawl.Engine
	store kv.Store
}

// open opens the data directory, which is made if it is missing. No run is
// recovered: a command moves only the run that it names.
func (g *Globals) open(ctx context.Context, opts pawl.Options) (*workplace, error) {
	opts.NoRecovery = true
	return g.openStore(ctx, opts)
}

// openStore opens the data directory with an engine on it.
func (g *Globals) openStore(ctx context.Context, opts pawl.Options) (*workplace, error) {
	store, err := kv.Open(g.Data, nil)
	if err != nil {
		return nil, otherwise(fmt.Errorf("the data directory %s cannot be opened: %w", g.Data, err), "store_unavailable",
			"look at the directory, or use another one with --data DIR or PAWL_DATA", statusUnavailable)
	}
	opts.CacheDir, opts.Grace = g.cacheDir(), grace
	engine, err := pawl.Open(ctx, store, &opts)
	if err != nil {
		return nil, otherwise(errors.Join(err, store.Close()), "store_unavailable",
			"use the data directory with the version of pawl that wrote it, or another one with --data DIR", statusUnavailable)
	}
	return &workplace{engine, store}, nil
}

// openExisting is open for commands that need what is there already.
func (g *Globals) openExisting(ctx context.Context, opts pawl.Options) (*workplace, error) {
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

// close closes the engine, which leaves every run resumable, and the store. A
// failure becomes the command's error, unless there is one already that says
// more than how a run stands.
func (w *workplace) close(err *error) {
	closing := errors.Join(w.Engine.Close(), w.store.Close())
	if closing != nil && (*err == nil || is[exitStatus](*err)) {
		*err = closing
	}
}
