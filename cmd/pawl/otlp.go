package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// spanExporter sends spans to a collector by OTLP over HTTP, as JSON. What does
// not arrive is lost: it is told once, when it begins to fail, and when it works
// again. The batch processor that calls it drops what is too much meanwhile.
type spanExporter struct {
	url     string
	headers http.Header
	timeout time.Duration
	client  *http.Client
	logger  *slog.Logger
	// givenUp is done when nobody waits for exports any more.
	givenUp context.Context
	giveUp  context.CancelFunc

	mu   sync.Mutex // guards lost
	lost int        // spans since an export worked
}

var _ sdktrace.SpanExporter = (*spanExporter)(nil)

// newSpanExporter makes the exporter that the environment asks for, in the
// variables of OpenTelemetry; nil if it asks for none.
func newSpanExporter(getenv func(string) string, logger *slog.Logger) (*spanExporter, error) {
	variable := func(name string) string {
		if v := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
			return v
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	target := variable("ENDPOINT")
	if target == "" || getenv("OTEL_SDK_DISABLED") == "true" || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" { // of all signals, not of traces
		target = strings.TrimSuffix(target, "/") + "/v1/traces"
	}
	u, err := url.Parse(target)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, badOTLP("OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL", "such as http://127.0.0.1:4318")
	}
	if protocol := variable("PROTOCOL"); protocol == "grpc" {
		return nil, badOTLP("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and traces are sent by HTTP only",
			"use the collector's port for OTLP over HTTP, usually 4318, and http/json")
	}
	e := &spanExporter{url: u.String(), timeout: 10 * time.Second, headers: http.Header{}, logger: logger}
	if ms, err := strconv.Atoi(variable("TIMEOUT")); err == nil && ms > 0 {
		e.timeout = time.Duration(ms) * time.Millisecond
	}
	for pair := range strings.SplitSeq(variable("HEADERS"), ",") {
		name, value, _ := strings.Cut(pair, "=")
		if value, err := url.PathUnescape(strings.TrimSpace(value)); err == nil && strings.TrimSpace(name) != "" {
			e.headers.Set(strings.TrimSpace(name), value)
		}
	}
	e.givenUp, e.giveUp = context.WithCancel(context.Background())
	e.headers.Set("Content-Type", "application/json")
	e.client = &http.Client{
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// The headers may be a password, and are for this collector.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return e, nil
}

func badOTLP(message, hint string) error {
	return &problem{Code: "usage", Message: message, Hint: hint, Status: statusUsage}
}

// ExportSpans sends the spans. It returns nil also if they are lost.
func (e *spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	defer context.AfterFunc(e.givenUp, cancel)()
	e.told(len(spans), e.send(ctx, spans))
	return nil
}

func (e *spanExporter) send(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	text, err := json.Marshal(otlpOf(spans))
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header = e.headers.Clone()
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10) // so that the connection can be used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers with status %d", response.StatusCode)
	}
	return nil
}

// told says when traces begin to be lost, and when that has ended.
func (e *spanExporter) told(spans int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		if e.lost == 0 {
			e.logger.Warn("traces are not taken and are lost; runs do not wait for them", "error", err)
		}
		e.lost += spans
	case e.lost > 0:
		e.logger.Info("traces are taken again", "lost_spans", e.lost)
		e.lost = 0
	}
}

// Shutdown closes the connections.
func (e *spanExporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost > 0 {
		e.logger.Warn("traces were not taken", "lost_spans", e.lost)
	}
	e.client.CloseIdleConnections()
	return nil
}
