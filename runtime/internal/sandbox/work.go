package sandbox

import (
	"context"
	"fmt"
	"math"
	goruntime "runtime"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/wasm"
	"github.com/tetratelabs/wazero/api"
)

// What a module is given when its work begins to be counted. No guest can
// import from the module or use the name of the export.
const (
	workModule = "pawl_work"
	workImport = "look"
	workExport = "pawl_work_left"
)

// Between two looks a guest executes a slice, which is made as large as it may
// be while looks are about half a millisecond apart: what a unit of work takes
// depends on the guest. How work is sliced decides nothing that the guest could
// notice.
const (
	lookEvery            = 500 * time.Microsecond
	minSlice, firstSlice = 1 << 9, 1 << 13
	maxSlice             = 1 << 20
)

// work is what a guest has computed. Its counter is a global of the module and
// goes down from what was granted; below zero the guest looks up.
type work struct {
	limit   int64 // MaxInt64 for none
	meter   *atomic.Int64
	left    api.Global // nil before the first look, at the guest's first function
	granted int64
	slice   int64
	since   time.Time // the last look, later by the time that calls have taken
}

func newWork(limit int64, meter *atomic.Int64) work {
	if limit == 0 {
		limit = math.MaxInt64
	}
	if meter == nil {
		meter = new(atomic.Int64)
	}
	return work{limit: limit, meter: meter, slice: firstSlice}
}

// done is the work until now, exactly. What is beyond the limit has been asked
// for and not been done.
func (w *work) done() int64 {
	if w.left == nil {
		return 0
	}
	return min(w.granted-int64(w.left.Get()), w.limit)
}

// pay counts bytes that the host copies, makes or reads for the guest as a bulk
// operation of the guest's own would be: one call may name all of its memory.
// What is beyond the limit ends the guest at its next head. Before the first
// function there is nothing to pay.
func (w *work) pay(bytes int) {
	if left, ok := w.left.(api.MutableGlobal); ok {
		left.Set(uint64(int64(left.Get()) - int64(bytes/wasm.BytesPerUnit)))
	}
}

// report tells the meter.
func (w *work) report() { w.meter.Store(w.done()) }

// look is where a computing guest comes up: it lets Go and other guests run,
// is ended if its context has ended or its limit is spent, and is granted the
// next slice.
func (in *instance) look(ctx context.Context, module api.Module) (int64, error) {
	w := &in.work
	if w.left == nil {
		w.left = module.ExportedGlobal(workExport)
	}
	used := w.granted - int64(w.left.Get())
	w.report()
	if used > w.limit {
		return 0, &Trap{TrapWorkLimit, fmt.Sprintf("it computed past its limit of %d units of work (limits.work)", w.limit)}
	}
	goruntime.Gosched()
	now := time.Now()
	if err := in.pass.yield(ctx, now); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, ended(ctx)
	}
	w.adapt(now)
	granted := min(w.slice, w.limit-used)
	w.granted = used + granted
	w.since = time.Now()
	return granted, nil
}

// adapt makes the slice fit to what the last one took.
func (w *work) adapt(now time.Time) {
	switch took := now.Sub(w.since); {
	case w.since.IsZero():
	case took > 2*lookEvery:
		w.slice = max(w.slice/4, minSlice)
	case took > lookEvery:
		w.slice = max(w.slice/2, minSlice)
	case took < lookEvery/2:
		w.slice = min(w.slice*2, maxSlice)
	}
}
