package runtime

import (
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Options of an [Engine]. Nil works, and so does every zero value.
type Options struct {
	// Tools are what steps can call. Defaults to none.
	Tools *host.Registry
	// Logger gets one line per change of state. Defaults to discarding.
	Logger *slog.Logger
	// Observer is told of every boundary. Defaults to none.
	Observer Observer
	// CacheDir is where compiled modules are kept; processes may share it.
	// Defaults to the folder pawl in the user's cache directory.
	CacheDir string
	// NoRecovery leaves the runs that an earlier process had open as they are,
	// until they are resumed. Defaults to recovering them when the engine opens.
	NoRecovery bool
	// Paused holds the recovery back until [Engine.Recover] is called, so that
	// people can look first. Runs that they start or resume go on meanwhile, also
	// after an outage of the store. It says nothing where NoRecovery is set.
	// Defaults to recovering when the engine opens.
	Paused bool
	// Workers bounds the runs that execute at once; runs that wait do not count.
	// Defaults to 64.
	Workers int
	// Grace is how long Close lets calls in flight finish. Defaults to 5 s.
	Grace time.Duration

	// sandbox, if set, is used in place of one of the engine's own.
	sandbox *sandbox.Sandbox
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.CacheDir == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			d.CacheDir = filepath.Join(dir, "pawl")
		}
	}
	if d.Workers <= 0 {
		d.Workers = 64
	}
	if d.Grace <= 0 {
		d.Grace = 5 * time.Second
	}
	return d
}
