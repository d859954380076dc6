package telemetry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/telemetry"
)

// nowhere takes spans and forgets them.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// observed makes telemetry as a server has it.
func observed(b *testing.B, metrics, traces bool) *telemetry.Telemetry {
	b.Helper()
	opts := new(telemetry.Options)
	if metrics {
		opts.Meter = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	if traces {
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(nowhere{}), sdktrace.WithIDGenerator(telemetry.IDs{}))
		b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
		opts.Tracer = provider
	}
	tel, err := telemetry.New(opts)
	if err != nil {
		b.Fatal(err)
	}
	return tel
}

// BenchmarkObserve is what the events of one call cost: before the intent, its
// intent, sent, answered, its receipt.
func BenchmarkObserve(b *testing.B) {
	for _, row := range []struct {
		name            string
		metrics, traces bool
	}{{"metrics", true, false}, {"traces", false, true}, {"both", true, true}} {
		b.Run(row.name, func(b *testing.B) {
			tel := observed(b, row.metrics, row.traces)
			const run = "01KB7Z7Q0Q9Y4W6M2N8V5R3T1S"
			kinds := []pawl.EventKind{pawl.BeforeIntent, pawl.IntentDurable, pawl.Sent, pawl.Answered, pawl.ReceiptDurable}
			tel.Observe(pawl.Event{Kind: pawl.Begun, Run: run, Step: "one", Attempt: 1, Call: -1})
			b.ReportAllocs()
			call := 0
			for b.Loop() {
				for _, kind := range kinds {
					tel.Observe(pawl.Event{Kind: kind, Run: run, Step: "one", Attempt: 1, Call: call, Tool: "keyed", Use: "books", Try: 1})
				}
				call++
			}
		})
	}
}

// BenchmarkEffects is how many durable effects a second runs make side by side
// with telemetry, over how many they make without, by turns on the same disk.
func BenchmarkEffects(b *testing.B) {
	const runs, calls = 32, 50
	input := fmt.Sprintf(`{"one":[%s],"two":[]}`, strings.TrimSuffix(strings.Repeat(`{"call":"keyed","drop":true},`, calls), ","))
	round := map[bool]func() time.Duration{}
	for _, with := range []bool{false, true} {
		tools, err := new(receiver).tools()
		if err != nil {
			b.Fatal(err)
		}
		opts := pawl.Options{Tools: tools}
		if with {
			opts.Observer = observed(b, true, true).Observe
		}
		w := deploy(b, openEngine(b, b.TempDir(), opts))
		round[with] = func() time.Duration { return side(b, w, runs, input) }
		round[with]() // compiled, and the files made
	}
	spent := map[bool]time.Duration{}
	for b.Loop() {
		for _, with := range []bool{false, true} {
			spent[with] += round[with]()
		}
	}
	b.ReportMetric(float64(b.N*runs*calls)/spent[true].Seconds(), "effects/s")
	b.ReportMetric(spent[false].Seconds()/spent[true].Seconds(), "x-of-without")
	b.ReportMetric(0, "ns/op") // a round is no unit
}

// side makes runs side by side, and says how long that took.
func side(b *testing.B, w *pawl.Workflow, runs int, input string) time.Duration {
	b.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for range runs {
		all.Go(func() {
			r, err := pawl.Start(b.Context(), w, "", json.RawMessage(input), nil)
			if err != nil {
				b.Error(err)
				return
			}
			if c, err := r.Wait(b.Context(), 0); err != nil || c.State != pawl.StateCompleted {
				b.Errorf("%v, %+v", err, c)
			}
		})
	}
	if all.Wait(); b.Failed() {
		b.FailNow()
	}
	return time.Since(began)
}
