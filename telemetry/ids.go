package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/trace"
)

// TraceID is the id of the trace that all spans of a run are in, whichever
// processes they come from: the 16 bytes of the run's id.
func TraceID(run string) trace.TraceID {
	id, err := ulid.ParseStrict(run)
	if err != nil || id == (ulid.ULID{}) { // no engine names a run so
		sum := sha256.Sum256([]byte("pawl trace 1 " + run))
		return trace.TraceID(sum[:16])
	}
	return trace.TraceID(id)
}

// first is the context of a run's first span. Every process can tell it, so
// nothing has to be stored for the links to it.
func first(run string) trace.SpanContext {
	sum := sha256.Sum256([]byte("pawl first span 1 " + run))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: TraceID(run), SpanID: trace.SpanID(sum[:8]), Remote: true})
}

// root puts a span into the run's trace without a parent there, so that the
// sampler decides by the trace's id: the same in every process.
func root(run string) context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: TraceID(run)}))
}

// spanIDKey is where a context holds the id that a span is to have.
type spanIDKey struct{}

// IDs gives ids to spans: random ones, but to the first span of a run the one
// that every later process links to. It is an IDGenerator of OpenTelemetry's
// SDK; give it to the SDK with sdktrace.WithIDGenerator. It is safe for
// concurrent use.
type IDs struct{}

// NewIDs gives a new trace and its first span their ids.
func (IDs) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, IDs{}.NewSpanID(ctx, id)
}

// NewSpanID gives a span its id.
func (IDs) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if known, ok := ctx.Value(spanIDKey{}).(trace.SpanID); ok {
		return known
	}
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
