package telemetry

import (
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/pawl-dev/pawl/telemetry"

// Options of [New]. Nil works, and so does every zero value.
type Options struct {
	// Meter gets the metrics. Defaults to none being kept.
	Meter metric.MeterProvider
	// Tracer gets the spans. Give its SDK [IDs]: without them the links to a
	// run's first span lead nowhere. What exports its spans must not do so within
	// the end of a span, or the run stands still meanwhile: the SDK's batch
	// processor does not. Defaults to no traces.
	Tracer trace.TracerProvider
}

// Telemetry is told what an engine does. It is safe for concurrent use.
type Telemetry struct {
	meter    metric.Meter
	counters *counters // nil without a meter
	spans    *spans    // nil without a tracer
}

// New makes the instruments. It fails if the meter refuses one.
func New(opts *Options) (*Telemetry, error) {
	t := new(Telemetry)
	if opts == nil {
		return t, nil
	}
	if opts.Meter != nil {
		t.meter = opts.Meter.Meter(scope)
		var err error
		if t.counters, err = newCounters(t.meter); err != nil {
			return nil, err
		}
	}
	if opts.Tracer != nil {
		t.spans = newSpans(opts.Tracer.Tracer(scope))
	}
	return t, nil
}

// Observe is an observer of an engine: give it as its Options.Observer, or call
// it from there. It waits for nothing but its own short locks.
func (t *Telemetry) Observe(e pawl.Event) {
	if t.counters != nil {
		t.counters.observe(&e)
	}
	if t.spans != nil {
		t.spans.observe(&e)
	}
}
