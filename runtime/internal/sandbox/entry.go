package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
)

// Entry is one execution of a step by a guest.
type Entry struct {
	// Step is the step's name, Input its input as JSON. A WASI command is not
	// told the name.
	Step  string
	Input []byte
	// Start is where the guest's wall clock begins.
	Start time.Time
	// Random returns the key of the guest's random stream: index is -1 while
	// the module initialises, then the number of completed calls (0, 1, ...).
	// It is asked only when the guest reads random bytes. Required.
	Random func(index int) [32]byte
	// MemoryPages limits the guest's memory, in pages of 64 KiB. Defaults to
	// DefaultMemoryPages.
	MemoryPages uint32
	// Work limits what the guest may compute, its initialising included, in
	// units of work: a function's entry or a loop's head costs 1, and more where
	// much code follows; so does each 256 bytes of a bulk operation. Defaults to
	// no limit.
	Work int64
	// Worked holds what the guest has computed since it was entered: exactly
	// while Call is called and when Enter has returned, about a millisecond late
	// in between. Defaults to nobody being told.
	Worked *atomic.Int64
	// Call carries out a call; the guest waits. An error ends the guest
	// cleanly, and Enter returns it. It must return soon after ctx ends.
	// Required.
	Call func(ctx context.Context, r *Request) (*Reply, error)
	// Log is given the guest's log lines, without line ends and control
	// characters, cut at MaxLogLine: puts at their level, stdout at info,
	// stderr at warn. Defaults to nothing.
	Log func(level slog.Level, line string)
	// LeftOut is told of what was beyond MaxLogBytes and not given to Log; what
	// was not even looked at counts as one line. Defaults to nobody being told.
	LeftOut func(lines, bytes int)
}

// Request is a call as the guest made it. It belongs to who is given it.
type Request struct {
	Tool string
	Head abi.CallHead
	Body []byte
}

// Reply is what the guest is told of its call.
type Reply struct {
	Status abi.Status
	Head   abi.ResultHead
	Body   []byte
	// At is the recorded time of the result. The guest's wall clock jumps to
	// it, never back.
	At time.Time
}

// Exit is how a guest left by itself: with an output, or with a failure.
type Exit struct {
	Output  []byte
	Failure *abi.Failure // nil for a step that is done
}

// Enter is the one place where a guest is entered and left. Each entry has a
// fresh instance, and nothing of it remains afterwards: no memory, no
// goroutine. Enter may be used concurrently.
//
// The error is a *Trap if the guest misbehaved; the error of Entry.Call; a *Bug
// if a function of the entry panicked; one that wraps context.Cause(ctx) if ctx
// ended before the guest did (if Call returned an error too, both match); a
// *ModuleError if the module needs more memory than the limit; ErrTooLarge;
// ErrClosed.
func (m *Module) Enter(ctx context.Context, e *Entry) (*Exit, error) {
	release, err := m.sandbox.hold()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := e.check(); err != nil {
		return nil, err
	}
	in := newInstance(stepping, e)
	pages := e.MemoryPages
	if pages == 0 {
		pages = DefaultMemoryPages
	}
	if m.command {
		in.command = true
		return m.enter(ctx, in, pages, exportCommand)
	}
	if in.pending, err = abi.AppendFrame(nil, abi.InputHead{Step: e.Step}, e.Input); err != nil {
		return nil, err
	}
	return m.enter(ctx, in, pages, abi.ExportStep)
}

func (e *Entry) check() error {
	switch {
	case e.Random == nil || e.Call == nil:
		return errors.New("sandbox: an entry needs Random and Call")
	case e.Work < 0:
		return fmt.Errorf("sandbox: a limit of %d units of work", e.Work)
	case e.MemoryPages > MaxMemoryPages:
		return fmt.Errorf("sandbox: a limit of %d pages; there are only %d", e.MemoryPages, MaxMemoryPages)
	case len(e.Input) > MaxPayload:
		return fmt.Errorf("%w: input of %d bytes, limit %d", ErrTooLarge, len(e.Input), MaxPayload)
	}
	return nil
}

// enter instantiates the module, initialises it, calls the export and returns
// how the guest left.
func (m *Module) enter(ctx context.Context, in *instance, pages uint32, export string) (*Exit, error) {
	e, compiled, err := m.ready(ctx, pages)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	in.pass.gate, in.left = m.sandbox.gate, m.sandbox.tested.left
	if err := in.pass.enter(ctx); err != nil {
		return nil, err
	}
	defer in.pass.leave()
	var code uint32
	err = protect(func() (err error) { // wazero too may have bugs
		code, err = in.run(context.WithValue(ctx, instanceKey{}, in), e.runtime, compiled, export)
		return err
	})
	if in.ownEnd() {
		in.flush()
	}
	if err := in.verdict(ctx, code, err); err != nil {
		return nil, err
	}
	return &Exit{Output: in.output, Failure: in.failure}, nil
}
