package main

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The shapes of OTLP's JSON that Pawl's spans need:
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. Numbers of 64
// bits are texts, ids are hexadecimal.
type (
	otlpTraces struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID      string          `json:"traceId"`
		SpanID       string          `json:"spanId"`
		ParentSpanID string          `json:"parentSpanId,omitempty"`
		Flags        uint32          `json:"flags,omitempty"`
		Name         string          `json:"name"`
		Kind         int             `json:"kind"`
		Start        string          `json:"startTimeUnixNano"`
		End          string          `json:"endTimeUnixNano"`
		Attributes   []otlpAttribute `json:"attributes,omitempty"`
		Events       []otlpEvent     `json:"events,omitempty"`
		Links        []otlpLink      `json:"links,omitempty"`
		Status       otlpStatus      `json:"status"`
	}
	otlpEvent struct {
		At         string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpLink struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// otlpOf puts spans of one provider, and of one scope, into OTLP's shape: there
// is one of both here.
func otlpOf(spans []sdktrace.ReadOnlySpan) otlpTraces {
	var r otlpResource
	var s otlpScope
	for _, span := range spans {
		s.Scope.Name, s.Scope.Version = span.InstrumentationScope().Name, span.InstrumentationScope().Version
		r.Resource.Attributes = otlpAttributes(span.Resource().Attributes())
		s.Spans = append(s.Spans, otlpSpanOf(span))
	}
	r.ScopeSpans = []otlpScope{s}
	return otlpTraces{[]otlpResource{r}}
}

func otlpSpanOf(s sdktrace.ReadOnlySpan) otlpSpan {
	c := s.SpanContext()
	o := otlpSpan{
		TraceID: c.TraceID().String(), SpanID: c.SpanID().String(), Flags: uint32(c.TraceFlags()),
		Name: s.Name(), Kind: int(s.SpanKind()), Start: nanos(s.StartTime()), End: nanos(s.EndTime()),
		Attributes: otlpAttributes(s.Attributes()),
	}
	if s.SpanKind() == trace.SpanKindUnspecified {
		o.Kind = int(trace.SpanKindInternal)
	}
	if s.Parent().SpanID().IsValid() {
		o.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		o.Events = append(o.Events, otlpEvent{nanos(e.Time), e.Name, otlpAttributes(e.Attributes)})
	}
	for _, l := range s.Links() {
		o.Links = append(o.Links, otlpLink{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String()})
	}
	switch s.Status().Code {
	case codes.Error:
		o.Status = otlpStatus{2, s.Status().Description}
	case codes.Ok:
		o.Status.Code = 1
	case codes.Unset:
	}
	return o
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

func otlpAttributes(attributes []attribute.KeyValue) []otlpAttribute {
	all := make([]otlpAttribute, 0, len(attributes))
	for _, a := range attributes {
		var value map[string]any
		switch a.Value.Type() {
		case attribute.BOOL:
			value = map[string]any{"boolValue": a.Value.AsBool()}
		case attribute.INT64:
			value = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		case attribute.FLOAT64:
			value = map[string]any{"doubleValue": a.Value.AsFloat64()}
		default:
			value = map[string]any{"stringValue": a.Value.String()}
		}
		all = append(all, otlpAttribute{string(a.Key), value})
	}
	return all
}
