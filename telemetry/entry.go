package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// The attributes of spans.
const (
	runKey     = attribute.Key("pawl.run")
	stepKey    = attribute.Key("pawl.step")
	attemptKey = attribute.Key("pawl.attempt")
	endKey     = attribute.Key("pawl.end") // how the entry ended, in the words of the events
	codeKey    = attribute.Key("pawl.code")
	callKey    = attribute.Key("pawl.call")    // its number within the attempt, from 0
	toolKey    = attribute.Key("pawl.tool")    // the operator's id
	grantKey   = attribute.Key("pawl.grant")   // as the step calls it
	classKey   = attribute.Key("pawl.class")   // the effect class
	keyKey     = attribute.Key("pawl.key")     // the idempotency key
	tryKey     = attribute.Key("pawl.try")     // of an event, over all processes
	triesKey   = attribute.Key("pawl.tries")   // over all processes
	outcomeKey = attribute.Key("pawl.outcome") // or refused, or open: not settled in this entry
	claimedKey = attribute.Key("pawl.claimed") // answered by an earlier call's receipt
)

// open is the outcome of a call that was not settled when its entry ended.
const open = "open"

// entry is the span of one entry of an attempt, with those of the calls that
// it makes.
type entry struct {
	run, step string
	attempt   int
	span      trace.Span

	mu    sync.Mutex // guards what follows
	calls map[int]*call
	// last is the number of the last call that had a span. What is told of it, or
	// of one before, once that has ended, is told for the second time.
	last  int
	ended bool
}

// call is the span of a call that has not ended.
type call struct {
	span trace.Span
	// over is when the next call began: what came of this one is told late, when
	// it has become durable. Zero while the guest waits for it.
	over time.Time
}

func newEntry(tracer trace.Tracer, e *pawl.Event) *entry {
	a := &entry{run: e.Run, step: e.Step, attempt: e.Attempt, last: -1, calls: map[int]*call{}}
	_, a.span = tracer.Start(root(e.Run), "step "+e.Step,
		trace.WithLinks(trace.Link{SpanContext: first(e.Run)}),
		trace.WithAttributes(runKey.String(e.Run), stepKey.String(e.Step), attemptKey.Int(e.Attempt)))
	return a
}

// of reports whether the event tells of the entry's attempt.
func (a *entry) of(e *pawl.Event) bool { return a.step == e.Step && a.attempt == e.Attempt }

// tell tells of a call that is not answered yet.
func (a *entry) tell(tracer trace.Tracer, e *pawl.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.begun(tracer, e)
	if c == nil || e.Kind == pawl.BeforeIntent {
		return
	}
	c.span.SetAttributes(known(e)...)
	with := []attribute.KeyValue{tryKey.Int(e.Try)}
	if e.Code != "" {
		with = append(with, codeKey.String(e.Code))
	}
	c.span.AddEvent(string(e.Kind), trace.WithAttributes(with...))
}

// begun is the call with its span, which is made if it has none; nil if it has
// ended. The caller holds mu.
func (a *entry) begun(tracer trace.Tracer, e *pawl.Event) *call {
	if c := a.calls[e.Call]; c != nil {
		return c
	}
	if a.ended || e.Call <= a.last {
		return nil
	}
	for _, before := range a.calls {
		if before.over.IsZero() {
			before.over = time.Now()
		}
	}
	ctx := trace.ContextWithSpan(context.Background(), a.span)
	tool := toolLabel(e)
	with := []attribute.KeyValue{runKey.String(a.run), stepKey.String(a.step), callKey.Int(e.Call), toolKey.String(tool), keyKey.String(e.Key.String())}
	if e.Use != "" && e.Use != e.Tool {
		with = append(with, grantKey.String(e.Tool))
	}
	_, span := tracer.Start(ctx, "call "+tool, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(with...))
	c := &call{span: span}
	a.calls[e.Call], a.last = c, e.Call
	return c
}

// known are the attributes that are not known before a call's intent.
func known(e *pawl.Event) []attribute.KeyValue {
	return []attribute.KeyValue{classKey.String(e.Class.String()), triesKey.Int(e.Try)}
}

// answered ends the call's span. Most calls are told of twice, when they are
// answered and when that is durable; those of tools in the store, and those that
// get another call's receipt, only then.
func (a *entry) answered(tracer trace.Tracer, e *pawl.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.begun(tracer, e)
	if c == nil {
		return
	}
	outcome := e.Outcome.String()
	switch e.Kind {
	case pawl.Refused:
		outcome = refused
	case pawl.Claimed:
		c.span.SetAttributes(claimedKey.Bool(true))
	default:
		c.span.SetAttributes(known(e)...)
	}
	if e.Code != "" {
		c.span.SetAttributes(codeKey.String(e.Code))
	}
	if outcome != host.OutcomeApplied.String() {
		c.span.SetStatus(codes.Error, outcome)
	}
	a.over(e.Call, c, outcome)
}

// over ends the call's span. The caller holds mu.
func (a *entry) over(number int, c *call, outcome string) {
	delete(a.calls, number)
	c.span.SetAttributes(outcomeKey.String(outcome))
	if c.over.IsZero() {
		c.span.End()
		return
	}
	c.span.End(trace.WithTimestamp(c.over))
}

// end ends the entry's span, and those of the calls that were not settled in it.
func (a *entry) end(e *pawl.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for number, c := range a.calls {
		a.over(number, c, open)
	}
	a.ended = true
	a.span.SetAttributes(endKey.String(string(e.Kind)))
	if e.Code != "" {
		a.span.SetAttributes(codeKey.String(e.Code))
	}
	if e.Kind == pawl.AttemptFailed || e.Kind == pawl.Parked || e.Kind == pawl.Interrupted {
		a.span.SetStatus(codes.Error, e.Code)
	}
	a.span.End()
}
