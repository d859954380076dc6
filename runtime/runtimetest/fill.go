package runtimetest

import (
	"context"
	"fmt"
	goruntime "runtime"
	"testing/fstest"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Workflow is the name of the workflow that [Fill] deploys.
const Workflow = "orders"

// Gone is a tool that the incompatible runs were begun with. An engine that does
// not have it cannot go on with them.
const Gone = "gone"

// Fill deploys a workflow and writes n runs of it. The i-th, from 0, has the
// external id "order-i" and the title "Order Wi of NAME", both with 6 digits, and
// the labels order=Wi and region=eu or us. Every second one is completed. The
// others are in turn failed (code wrong_address), waiting for a timer that is due
// in a year, in need of a decision (unknown), waiting for a paused tool, in need
// of one (budget), and incompatible with an engine that has tools and lacks
// [Gone].
//
// The store must be writable, and no engine open on it: one that is does not see
// the runs. An engine that recovers executes none of them.
func Fill(ctx context.Context, store kv.Store, n int) error {
	f := &filler{due: time.Now().AddDate(1, 0, 0).UnixMicro()}
	if err := f.deploy(ctx, store); err != nil {
		return err
	}
	var err error
	if f.book, err = journal.OpenBook(ctx, store); err != nil {
		return err
	}
	const writers = 256 // share their commits
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range n {
		id := ulid.Make().String() // in order
		group.Go(func() error { return f.write(ctx, i, id) })
	}
	return group.Wait()
}

type filler struct {
	book   *journal.Book
	digest string
	pins   journal.Pins
	due    int64 // microseconds
}

func (f *filler) deploy(ctx context.Context, store kv.Store) error {
	engine, err := runtime.Open(ctx, store, &runtime.Options{NoRecovery: true})
	if err != nil {
		return err
	}
	w, err := engine.Deploy(ctx, fstest.MapFS{
		"workflow.toml": {Data: []byte(manifest)},
		"orders.wasm":   {Data: []byte(module)},
	})
	if err != nil {
		_ = engine.Close()
		return err
	}
	f.digest = w.Digest()
	all, err := engine.Workflows()
	if err != nil {
		_ = engine.Close()
		return err
	}
	f.pins = journal.Pins{
		Modules: map[string]string{}, Tools: map[string][]byte{}, ABI: abi.Version, Semantics: sandbox.Semantics,
		StateFormat: journal.Format, Arch: goruntime.GOARCH,
	}
	for _, doc := range all {
		if doc.Digest == f.digest {
			f.pins.Modules[doc.Modules[0].Name] = doc.Modules[0].Digest
		}
	}
	return engine.Close()
}

// write writes the i-th run.
func (f *filler) write(ctx context.Context, i int, id string) error {
	names := [...]string{"Ana", "Bäcker & Söhne", "Çelik", "Dmitri", "Emeka", "Fátima", "Göran"}
	order := fmt.Sprintf("W%06d", i)
	input := fmt.Appendf(nil, `{"order":%q}`, order)
	s := &journal.Start{
		Run: id, ExternalID: fmt.Sprintf("order-%06d", i), Workflow: Workflow, Version: "1.0.0", Digest: f.digest,
		Title:  fmt.Sprintf("Order %s of %s", order, names[i%len(names)]),
		Labels: map[string]string{"order": order, "region": []string{"eu", "us"}[i/2%2]},
		Pins:   f.pins, Root: id, Steps: []string{"ship"},
	}
	kind := i / 2 % 6
	if i%2 == 1 && kind == 5 {
		s.Pins.Tools = map[string][]byte{Gone: []byte(`{}`)}
	}
	run, _, err := f.book.Begin(ctx, s, input, [32]byte{}, nil)
	if err != nil {
		return err
	}
	if run == nil {
		return fmt.Errorf("runtimetest: the store has a run %s already", s.ExternalID)
	}
	defer run.Close()
	if i%2 == 0 {
		return run.Complete(ctx, []byte("null"))
	}
	return f.rest(ctx, run, kind)
}

// rest ends the attempt of a run in one of six ways.
func (f *filler) rest(ctx context.Context, run *journal.Run, kind int) error {
	const (
		address = "the address has no street"
		down    = "the carrier did not answer within 20 s"
		spent   = "attempts: 3 of 3 are spent"
		unknown = "parcels.send was sent and no answer came: it is not known whether the parcel was ordered"
		refused = "parcels.send refused the credentials (HTTP 401); mend the secret, then resume"
	)
	switch kind {
	case 0:
		return run.Fail(ctx, &journal.Fail{Attempt: 1, Call: -1, Code: "wrong_address", Message: address, Kind: journal.Deterministic, Retry: "never"})
	case 1:
		return run.Fail(ctx, &journal.Fail{Attempt: 1, Call: -1, Code: "error", Message: down, Kind: journal.Temporary, Retry: "again", Next: f.due})
	case 2:
		return run.Park(ctx, &journal.Park{Attempt: 1, Call: -1, Code: journal.ParkUnknown, Sentence: unknown})
	case 3:
		return run.Wait(ctx, &journal.Wait{
			Attempt: 1, Code: journal.WaitPaused, Until: f.due, Tool: "parcels.send", Sentence: refused, Waker: "operator",
			Pause: &journal.Pause{Since: time.Now().UnixMicro(), Times: 1, Why: "http_401"},
		})
	case 4:
		return run.Park(ctx, &journal.Park{Attempt: 1, Call: -1, Code: journal.ParkBudget, Sentence: spent})
	}
	return run.Fail(ctx, &journal.Fail{Attempt: 1, Call: -1, Code: "error", Message: down, Kind: journal.Temporary, Retry: "again", Next: f.due})
}
