package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// StartOptions of [Start]. Nil works, and so does every zero value.
type StartOptions struct {
	// KeyRoot takes the run's id's place in its idempotency keys, for a run
	// that must not share keys with itself in another store. Defaults to the
	// run's id.
	KeyRoot string
}

// MaxInput is how many bytes of JSON the input of a run can have.
const MaxInput = sandbox.MaxPayload

var externalID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// IsExternalID reports whether a run can have the external id.
func IsExternalID(id string) bool { return externalID.MatchString(id) }

// Start begins a run of the workflow and executes it. The input is encoded as
// JSON (a json.RawMessage is taken as it is) and checked against the
// workflow's schema: an [InputError] says where it does not fit.
//
// Start is idempotent by externalID ([A-Za-z0-9._-]{1,128}; empty for a new
// one): with the same workflow and input it returns the run that is there, and
// goes on with it if nobody does; with another input it fails with
// [ErrInputConflict]. When Start returns, the start is durable. The run goes on
// after ctx ends, and a start that is being written then is written.
func Start[In any](ctx context.Context, w *Workflow, externalID string, in In, opts *StartOptions) (*Run, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return nil, &InputError{Workflow: w.Name(), Err: err}
	}
	return w.engine.begin(ctx, w, externalID, input, opts)
}

func (e *Engine) begin(ctx context.Context, w *Workflow, id string, input []byte, opts *StartOptions) (*Run, error) {
	run := ulid.Make().String()
	if id == "" {
		id = run
	}
	if !IsExternalID(id) {
		return nil, fmt.Errorf("%w: external id %q: want 1 to 128 of A-Z a-z 0-9 . _ -", ErrInvalidInput, id)
	}
	if len(input) > sandbox.MaxPayload {
		err := fmt.Errorf("%d bytes; a step takes at most %d", len(input), sandbox.MaxPayload)
		return nil, &InputError{Workflow: w.Name(), Err: err}
	}
	if err := w.manifest.CheckInput(input); err != nil {
		return nil, invalid(w.Name(), err)
	}
	hash, err := host.RequestHash("input", abi.TypeJSON, "", false, input)
	if err != nil {
		return nil, &InputError{Workflow: w.Name(), Err: err}
	}
	pins, missing := e.pins(w)
	if len(missing) > 0 {
		return nil, &IncompatibleError{Differences: missing}
	}
	start := &journal.Start{
		Run: run, ExternalID: id, Workflow: w.Name(), Version: w.Version(), Digest: w.digest,
		Title: w.manifest.Title(input), Labels: w.manifest.Labels(input), Pins: pins,
		Limits: w.limits(time.Now()), Root: run,
	}
	if opts != nil && opts.KeyRoot != "" {
		start.Root = opts.KeyRoot
	}
	start.Steps = w.stepNames()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.launch(ctx, start, input, hash)
}

// launch begins the run, or finds the one that has its external id. The body
// is there before the run is: whoever finds the run finds that it is executed.
func (e *Engine) launch(ctx context.Context, start *journal.Start, input []byte, hash host.Hash) (*Run, error) {
	b, err := e.admit(start.Run, starting, "")
	if err != nil {
		return nil, err
	}
	defer b.era.bodies.Done()
	if err = b.own(); err == nil {
		err = e.life.begin(e)
	}
	if err != nil {
		if storeFailed(err) {
			e.ail(err)
		}
		e.leave(b)
		return nil, err
	}
	run, found, err := e.book.Begin(ctx, start, input, hash, e.opts.Observer)
	if run == nil {
		if storeFailed(err) { // it may be there all the same, and goes on then
			b.orderly.Store(true) // nothing of it was executed
			e.ail(err)
		}
		e.leave(b)
		if err != nil {
			return nil, err
		}
		r := &Run{engine: e, id: found}
		if err := r.goOn(); err != nil {
			return nil, err
		}
		return r, nil
	}
	b.run = run
	run.Emit(Event{Kind: Started, Call: -1})
	if err := b.open(starting); err != nil { // cannot be: it was begun with this engine's pins
		b.err = err
		e.leave(b)
		return nil, err
	}
	e.schedule(b, starting)
	return &Run{engine: e, id: b.id, made: true}, nil
}

// limits are the workflow's budgets, with the deadline made absolute.
func (w *Workflow) limits(now time.Time) journal.Limits {
	b := w.manifest.Budget
	l := journal.Limits{
		Attempts: b.Attempts, Calls: b.Calls, Recoveries: b.Recoveries, Active: b.Active, Work: b.Work, Units: maps.Clone(b.Units),
	}
	if d := w.manifest.Deadline; d > 0 {
		l.Deadline = now.Add(d).UnixMicro()
	}
	return l
}
