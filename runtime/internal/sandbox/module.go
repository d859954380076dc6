package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/tetratelabs/wazero"
)

// Module is a module that can be entered. Its methods may be used
// concurrently, until the sandbox is closed.
type Module struct {
	sandbox  *Sandbox
	digest   string
	code     []byte // what is compiled: the author's module, rewritten
	minPages uint32 // of memory at the start
	section  []byte // the custom section that describes it; nil for none
	command  bool   // it is a WASI command
	describe bool   // it exports abi.ExportDescribe
	compiled memo[uint32, wazero.CompiledModule]
}

// Module returns the module with the digest, "sha256:" and 64 hexadecimal
// digits of the module's bytes. It is checked and compiled once per sandbox,
// also under concurrency; wasm is asked only then, and what it returns belongs
// to the sandbox. The error is a *ModuleError if the module cannot be run, else
// the error of wasm, ErrClosed, or one that wraps the cause of ctx, which ends
// only the waiting for somebody else's compiling.
func (s *Sandbox) Module(ctx context.Context, digest string, wasm func() ([]byte, error)) (*Module, error) {
	release, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	return s.modules.get(ctx, digest, func() (*Module, error) {
		b, err := wasm()
		if err != nil {
			return nil, err
		}
		return s.load(context.WithoutCancel(ctx), digest, b)
	})
}

func (s *Sandbox) load(ctx context.Context, digest string, wasm []byte) (*Module, error) {
	sum := sha256.Sum256(wasm)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != digest {
		return nil, &ModuleError{ModuleDigest, fmt.Sprintf("its bytes have the digest %s, not %s", got, digest)}
	}
	file, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	m := &Module{sandbox: s, digest: digest}
	if len(file.Memories) > 0 {
		m.minPages = file.Memories[0].Min
	}
	if m.minPages > MaxMemoryPages {
		return nil, m.tooMuchMemory(MaxMemoryPages)
	}
	if section, ok := file.Custom(abi.DescribeSection); ok {
		m.section = slices.Concat([]byte{}, section) // the bytes around it may go
	}
	pages := max(DefaultMemoryPages, m.minPages)
	e, err := s.engine(ctx, pages)
	if err != nil {
		return nil, err
	}
	if err := checkImports(file, e); err != nil {
		return nil, err
	}
	if m.code, err = rewrite(file); err != nil {
		return nil, err
	}
	if s.tested.uncounted {
		m.code = wasm
	}
	_, compiled, err := m.ready(ctx, pages)
	if err != nil {
		return nil, err
	}
	m.command = isCommand(compiled)
	if !m.command {
		_, m.describe = compiled.ExportedFunctions()[abi.ExportDescribe]
	}
	return m, nil
}

// Command reports whether the module is a WASI command: it has one step, of any
// name, which cannot call.
func (m *Module) Command() bool { return m.command }

// MinMemoryPages returns how many pages of memory, 64 KiB each, the module
// starts with. An entry with a lower limit cannot succeed.
func (m *Module) MinMemoryPages() uint32 { return m.minPages }

// ready returns the engine for a memory limit and the module compiled for it.
// The machine code is made once; what is repeated for another limit is reading
// the module.
func (m *Module) ready(ctx context.Context, pages uint32) (*engine, wazero.CompiledModule, error) {
	if m.minPages > pages {
		return nil, nil, m.tooMuchMemory(pages)
	}
	e, err := m.sandbox.engine(ctx, pages)
	if err != nil {
		return nil, nil, err
	}
	compiled, err := m.compiled.get(ctx, pages, func() (wazero.CompiledModule, error) {
		begun := time.Now()
		compiled, err := m.sandbox.compile(context.WithoutCancel(ctx), e, m.code)
		if err != nil {
			return nil, err
		}
		m.sandbox.logger.DebugContext(ctx, "module ready",
			slog.String("digest", m.digest), slog.Uint64("pages", uint64(pages)), slog.Duration("took", time.Since(begun)))
		return compiled, checkFunctions(compiled, e)
	})
	return e, compiled, err
}

// compile compiles, or takes the machine code from the cache. A damaged cache
// is emptied: it holds nothing that cannot be made again.
func (s *Sandbox) compile(ctx context.Context, e *engine, wasm []byte) (wazero.CompiledModule, error) {
	compiled, err := e.compile(ctx, wasm)
	if err != nil && isCacheError(err) {
		s.logger.WarnContext(ctx, "compilation cache damaged, emptied", slog.String("dir", s.cacheDir), slog.Any("err", err))
		if err := emptyCache(s.cacheDir); err != nil {
			return nil, fmt.Errorf("sandbox: emptying the compilation cache: %w", err)
		}
		compiled, err = e.compile(ctx, wasm)
	}
	var bug *Bug
	switch {
	case err == nil:
		return compiled, nil
	case errors.As(err, &bug):
		return nil, err
	case isCacheError(err):
		return nil, fmt.Errorf("sandbox: compilation cache in %s: %w", s.cacheDir, err)
	}
	return nil, &ModuleError{ModuleInvalid, err.Error()}
}

func (m *Module) tooMuchMemory(pages uint32) error {
	return &ModuleError{ModuleMemory, fmt.Sprintf("it starts with %d pages of memory (64 KiB each) and the limit is %d; raise the step's limit or build a smaller module", m.minPages, pages)}
}

// Describe returns what the module says of itself: what the custom section
// says, else what pawl_describe puts out; nil if it has neither. The error is a
// *ModuleError if that cannot be read or takes longer than [DescribeLimit],
// else as that of [Module.Enter].
func (m *Module) Describe(ctx context.Context) (*abi.Description, error) {
	text := m.section
	if text == nil {
		if !m.describe {
			return nil, nil
		}
		var err error
		if text, err = m.describeItself(ctx); err != nil {
			return nil, err
		}
	}
	d := &abi.Description{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, &ModuleError{ModuleBadDescription, fmt.Sprintf("what it says of itself is not a description: %v", err)}
	}
	return d, nil
}

// DescribeText returns, as it is, what pawl_describe puts out; nil if the
// module does not export it. A build copies it into the custom section. Errors
// are those of [Module.Describe].
func (m *Module) DescribeText(ctx context.Context) ([]byte, error) {
	if !m.describe {
		return nil, nil
	}
	return m.describeItself(ctx)
}

func (m *Module) describeItself(ctx context.Context) ([]byte, error) {
	release, err := m.sandbox.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	in := newInstance(describing, &Entry{
		Start:  time.Unix(0, 0),
		Random: func(int) (zero [32]byte) { return zero },
	})
	limited, cancel := context.WithTimeoutCause(ctx, m.sandbox.describeLimit, errDescribeSlow)
	defer cancel()
	exit, err := m.enter(limited, in, max(DefaultMemoryPages, m.minPages), abi.ExportDescribe)
	switch {
	case errors.Is(err, errDescribeSlow):
		return nil, &ModuleError{ModuleBadDescription, fmt.Sprintf("%s did not end within %v; it should only put out a text", abi.ExportDescribe, m.sandbox.describeLimit)}
	case err != nil:
		return nil, err
	case exit.Failure != nil:
		return nil, &ModuleError{ModuleBadDescription, "pawl_describe failed: " + exit.Failure.Message}
	}
	return exit.Output, nil
}
