package sandbox

import (
	"context"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Options of a [Sandbox]. Nil and zero values work.
type Options struct {
	// CacheDir is a directory for compiled modules, which processes share. It
	// must be as trustworthy as the program: compiled code is read from it.
	// Defaults to no directory; modules are then compiled in every process.
	CacheDir string
	// Logger is told what was compiled (at debug level) and that a damaged cache
	// was emptied. Defaults to none.
	Logger *slog.Logger
}

// Sandbox holds compiled modules. Its methods may be used concurrently.
type Sandbox struct {
	cache    wazero.CompilationCache
	cacheDir string // empty for none
	logger   *slog.Logger
	// describeLimit is DescribeLimit but in tests.
	describeLimit time.Duration
	tested        tested
	modules       memo[string, *Module]
	engines       memo[uint32, *engine] // by memory limit
	gate          gate                  // GOMAXPROCS guests at once

	mu     sync.Mutex // guards closed, and use.Add against Close
	closed bool
	use    sync.WaitGroup // modules being loaded, guests inside
}

// tested is what tests do otherwise, set before the first module.
type tested struct {
	interpreted bool             // modules are interpreted instead of compiled
	uncounted   bool             // modules are compiled as they are
	left        func(api.Module) // looks at a guest that has left
}

// New returns a sandbox without modules.
func New(opts *Options) (*Sandbox, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Sandbox{cache: wazero.NewCompilationCache(), logger: opts.Logger, describeLimit: DescribeLimit, gate: make(gate, goruntime.GOMAXPROCS(0))}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	if opts.CacheDir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(opts.CacheDir)
		if err != nil {
			return nil, fmt.Errorf("sandbox: compilation cache in %s: %w", opts.CacheDir, err)
		}
		s.cache, s.cacheDir = cache, opts.CacheDir
	}
	return s, nil
}

// Close waits until all guests have left and frees the compiled code. It ends
// no guest: end their contexts first. If ctx ends before, nothing is freed and
// the error wraps its cause; Close may then be called again.
func (s *Sandbox) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()

	empty := make(chan struct{})
	go func() { s.use.Wait(); close(empty) }()
	select {
	case <-empty:
	case <-ctx.Done():
		return fmt.Errorf("sandbox: closing: %w", context.Cause(ctx))
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	s.engines.each(func(e *engine) {
		if e := e.runtime.Close(ctx); err == nil {
			err = e
		}
	})
	if e := s.cache.Close(ctx); err == nil {
		err = e
	}
	return err
}

// hold keeps the sandbox open until the returned function is called.
func (s *Sandbox) hold() (release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	s.use.Add(1)
	return s.use.Done, nil
}
