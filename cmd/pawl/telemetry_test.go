package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/telemetry"
)

// collector takes traces; hang, if not nil, keeps it from answering.
type collector struct {
	*httptest.Server
	hang chan struct{}

	mu     sync.Mutex // guards what follows
	bodies [][]byte
	heads  []http.Header
	paths  []string
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.mu.Lock()
		c.bodies, c.heads, c.paths = append(c.bodies, body), append(c.heads, r.Header), append(c.paths, r.URL.Path)
		c.mu.Unlock()
		if c.hang != nil {
			<-c.hang
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// told lets the instruments tell of so many runs, each of one call.
func tellRuns(i *instruments, runs int) (last string) {
	for range runs {
		last = ulid.Make().String()
		event := pawl.Event{Run: last, Step: "send", Attempt: 1, Call: -1}
		call := event
		call.Call, call.Tool, call.Use, call.Class, call.Try, call.Key = 0, "pay", "pay-eu", host.Keyed, 1, host.Key(ulid.Make())
		for _, e := range []struct {
			kind pawl.EventKind
			of   pawl.Event
		}{{pawl.Started, event}, {pawl.Begun, event}, {pawl.BeforeIntent, call}, {pawl.Sent, call}, {pawl.Answered, call}, {pawl.Parked, event}} {
			e.of.Kind = e.kind
			i.Observe(e.of)
		}
	}
	return last
}

// Traces go to the collector that the environment names, in OTLP's own JSON, as
// far as it is written down: ids in hexadecimal, times as texts.
func TestTracesReachTheCollector(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/otlp/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20abc, X-Team=ops")
	t.Setenv("OTEL_SERVICE_NAME", "refunds")
	i, err := newInstruments(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	run := tellRuns(i, 1)
	if err := i.close(); err != nil {
		t.Fatal(err)
	}
	if len(c.bodies) != 1 || c.paths[0] != "/otlp/v1/traces" || c.heads[0].Get("Authorization") != "Basic abc" ||
		c.heads[0].Get("X-Team") != "ops" || c.heads[0].Get("Content-Type") != "application/json" {
		t.Fatalf("%q, %v, %s", c.paths, c.heads, c.bodies)
	}
	var got struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []otlpAttribute
			}
			ScopeSpans []struct {
				Spans []otlpSpan
			}
		}
	}
	if err := json.Unmarshal(c.bodies[0], &got); err != nil {
		t.Fatal(err)
	}
	service := fmt.Sprint(got.ResourceSpans[0].Resource.Attributes)
	if !strings.Contains(service, "{service.name map[stringValue:refunds]}") {
		t.Errorf("the resource is %s", service)
	}
	spans := got.ResourceSpans[0].ScopeSpans[0].Spans
	if len(spans) != 3 {
		t.Fatalf("%d spans", len(spans))
	}
	first, call, step := spans[0], spans[1], spans[2]
	for _, s := range spans {
		if s.TraceID != telemetry.TraceID(run).String() || len(s.SpanID) != 16 || len(s.Start) != 19 || s.End < s.Start {
			t.Errorf("%+v", s)
		}
	}
	if call.ParentSpanID != step.SpanID || call.Kind != 3 || len(call.Events) != 1 || call.Status.Code != 2 {
		t.Errorf("the call is %+v", call)
	}
	if len(step.Links) != 1 || step.Links[0] != (otlpLink{first.TraceID, first.SpanID}) || step.ParentSpanID != "" || step.Kind != 1 {
		t.Errorf("the step is %+v, the first span %+v", step, first)
	}
	if text := string(c.bodies[0]); !strings.Contains(text, `{"key":"pawl.attempt","value":{"intValue":"1"}}`) {
		t.Errorf("%s", text)
	}
}

// A collector that never answers keeps no run waiting, and the server's end not
// for long; what was lost is said once.
//
// Seen red (it hangs) with a queue that blocks, and with an end that waits for
// the collector.
func TestSilentCollectorKeepsNobodyWaiting(t *testing.T) {
	c := newCollector(t)
	c.hang = make(chan struct{})
	t.Cleanup(func() { close(c.hang) }) // before the collector closes
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")
	var log bytes.Buffer
	i, err := newInstruments(slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	tellRuns(i, 3000) // more than the queue holds
	if err := i.close(); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Count(text, "level=WARN") != 2 || !strings.Contains(text, "are lost") || !strings.Contains(text, "lost_spans=") {
		t.Errorf("the log is\n%s", text)
	}
}

// What the environment asks for and cannot be had is refused.
func TestCollectorOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		env  map[string]string
		url  string
		says string
	}{
		"none":           {nil, "", ""},
		"all signals":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "http://c:4318/v1/traces", ""},
		"traces":         {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c/x", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, "https://c/x", ""},
		"switched off":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true"}, "", ""},
		"other exporter": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, "", ""},
		"no URL":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"}, "", "no http or https URL"},
		"grpc":           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "", "by HTTP only"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, err := newSpanExporter(func(name string) string { return row.env[name] }, slog.New(slog.DiscardHandler))
			if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Fatalf("%v, want %q", err, row.says)
			}
			url := ""
			if e != nil {
				url = e.url
			}
			if url != row.url {
				t.Errorf("traces go to %q, want %q", url, row.url)
			}
		})
	}
}
