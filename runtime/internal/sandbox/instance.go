package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"
)

// phase is what a guest may do at the moment.
type phase uint8

const (
	initializing phase = iota
	describing
	stepping
)

// instance is the state of one guest. Only the goroutine that entered the guest
// uses it, so nothing guards it.
type instance struct {
	entry   *Entry
	phase   phase
	target  phase // the phase after initialising
	clock   clock
	random  random
	log     guestLog
	pending []byte // the pending slot: the input, then each call's result
	calls   int    // completed
	work    work
	pass    pass
	command bool   // a WASI command: input on stdin, output on stdout
	stdout  []byte // of a command

	output  []byte // not nil once put
	failure *abi.Failure
	left    func(api.Module) // in tests
	// stop is why the guest was ended by a host function.
	stop error
}

// instanceKey finds the instance in the context that a host function is given.
type instanceKey struct{}

func newInstance(target phase, e *Entry) *instance {
	in := &instance{entry: e, target: target, clock: newClock(e.Start), log: guestLog{sink: e.Log, leftOut: e.LeftOut}, work: newWork(e.Work, e.Worked)}
	in.random = random{key: e.Random, index: -1}
	return in
}

// run executes the guest from its instantiation to the end of the export.
func (in *instance) run(ctx context.Context, runtime wazero.Runtime, compiled wazero.CompiledModule, export string) (code uint32, err error) {
	defer in.work.report() // after a trap, and of a start function, too
	room := &memory{instance: in}
	defer room.release() // after the module is closed
	module, err := runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, room), compiled, in.config(ctx))
	if err != nil {
		return 0, err
	}
	defer func() { _ = module.Close(context.WithoutCancel(ctx)) }() // nothing of it is left to fail
	if in.left != nil {
		defer in.left(module)
	}
	if initialize := module.ExportedFunction(exportInitialize); initialize != nil {
		if _, err := initialize.Call(ctx); err != nil {
			return 0, err
		}
	}
	in.phase = in.target
	in.random.rekey(0)
	if in.command {
		return 0, in.runCommand(ctx, module.ExportedFunction(export))
	}
	results, err := module.ExportedFunction(export).Call(ctx, uint64(len(in.pending)))
	if err != nil {
		return 0, err
	}
	return api.DecodeU32(results[0]), nil
}

// config is the guest's WASI. wazero gives its streams no context, and one call
// of a guest may write or read often: each looks at ctx.
func (in *instance) config(ctx context.Context) wazero.ModuleConfig {
	guarded := func(f func(p []byte) error) stream {
		return func(p []byte) {
			in.guard(func() error {
				if ctx.Err() != nil {
					return ended(ctx)
				}
				in.work.pay(len(p) + wasm.BytesPerUnit) // a million empty pieces are work too
				return f(p)
			})
		}
	}
	var stdin io.Reader
	stdout := in.log.stdout
	if in.command {
		stdin, stdout = bytes.NewReader(in.entry.Input), in.collect
	}
	return wazero.NewModuleConfig().
		WithName("").         // instances have no name, so that there can be many
		WithStartFunctions(). // _initialize is called above, _start never
		WithWalltime(in.clock.walltime, clockStep).
		WithNanotime(in.clock.nanotime, clockStep).
		WithNanosleep(in.clock.sleep).
		WithOsyield(func() {}).
		WithRandSource(guarded(in.random.read)).
		WithStdin(stdin).
		WithStdout(guarded(stdout)).
		WithStderr(guarded(in.log.stderr))
}

// stream is a reader and a writer that always handles all bytes.
type stream func(p []byte)

func (s stream) Read(p []byte) (int, error)  { s(p); return len(p), nil }
func (s stream) Write(p []byte) (int, error) { s(p); return len(p), nil }

// guard is around all Go code that a guest can reach. An error ends the guest;
// so does a panic, which is ours: wazero would hand it back as an ordinary
// error of the guest.
func (in *instance) guard(f func() error) {
	if err := protect(f); err != nil {
		in.stop = err
		panic(sys.NewExitError(1)) // the way out of wazero without a stack text
	}
}

func protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Bug{Value: r, Stack: debug.Stack()}
		}
	}()
	return f()
}

// ownEnd reports whether the guest came to its end by itself. One that was
// ended from outside may be entered again, and goes on with the line then.
func (in *instance) ownEnd() bool {
	var trap *Trap
	return in.stop == nil || errors.As(in.stop, &trap)
}

// flush logs what the guest left without a line end.
func (in *instance) flush() {
	if err := protect(func() error { in.log.flush(); return nil }); err != nil && in.stop == nil {
		in.stop = err
	}
}

// verdict says how the guest left: err is wazero's.
func (in *instance) verdict(ctx context.Context, code uint32, err error) error {
	var (
		trap *Trap
		bug  *Bug
	)
	switch {
	case errors.As(err, &bug):
		return bug
	case errors.As(in.stop, &trap):
		return in.withStderr(trap)
	case in.stop != nil:
		if cause := context.Cause(ctx); cause != nil && !errors.Is(in.stop, cause) {
			return fmt.Errorf("%w: %w", ended(ctx), in.stop)
		}
		return in.stop
	case err != nil:
		return in.withStderr(trapOf(err, in.log.tail.headline))
	}
	if trap := in.checkLeaving(code); trap != nil {
		return in.withStderr(trap)
	}
	return nil
}

// checkLeaving compares what the guest returned with what it put.
func (in *instance) checkLeaving(code uint32) *Trap {
	switch {
	case code == 0 && in.output == nil:
		return &Trap{TrapNoOutput, "it returned 0 (done) without putting an output"}
	case code == 1 && in.failure == nil:
		return &Trap{TrapNoFailure, "it returned 1 (failed) without putting a failure"}
	case code == 0 && in.failure != nil, code == 1 && in.output != nil, code > 1:
		return &Trap{TrapBadReturn, fmt.Sprintf("it returned %d, which is neither 0 after an output nor 1 after a failure", code)}
	}
	return nil
}

func (in *instance) withStderr(t *Trap) error {
	if text := in.log.tail.String(); text != "" {
		return &Trap{t.Code, t.Message + "\n" + text}
	}
	return t
}
