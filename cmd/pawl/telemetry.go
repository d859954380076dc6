package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/telemetry"
)

const (
	// scrapes bounds how many may be answered at once: each counts all runs.
	scrapes = 4
	// parting bounds the last export, when the server stops.
	parting = 2 * time.Second
)

// instruments are what a server tells of itself to those who measure.
type instruments struct {
	*telemetry.Telemetry
	meters  *sdkmetric.MeterProvider
	tracers *sdktrace.TracerProvider // nil if nobody takes traces
	export  *spanExporter            // theirs
	metrics http.Handler             // answers those who scrape
	unwatch func()
}

// newInstruments opens them. The logger is told what cannot be exported.
func newInstruments(logger *slog.Logger) (*instruments, error) {
	// The SDK tells of its mistakes nowhere else.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("telemetry", "error", err) }))
	registry := prometheus.NewRegistry()
	err := errors.Join(registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, err
	}
	reader, err := otelprometheus.New(otelprometheus.WithRegisterer(registry),
		otelprometheus.WithoutScopeInfo(), otelprometheus.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	i := &instruments{
		meters: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		metrics: promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			ErrorLog:            slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
			ErrorHandling:       promhttp.ContinueOnError,
			MaxRequestsInFlight: scrapes,
		}),
		unwatch: func() {},
	}
	opts := &telemetry.Options{Meter: i.meters}
	if i.export, err = newSpanExporter(os.Getenv, logger); err != nil {
		return nil, err
	}
	if i.export != nil {
		i.tracers = newTracers(i.export)
		opts.Tracer = i.tracers
	}
	if i.Telemetry, err = telemetry.New(opts); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

// newTracers hands spans to the exporter in batches: what it cannot take in time
// is dropped, and a run never waits for it.
func newTracers(exporter sdktrace.SpanExporter) *sdktrace.TracerProvider {
	name := resource.NewSchemaless(attribute.String("service.name", "pawl"))
	if told, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithFromEnv()); err == nil {
		if merged, err := resource.Merge(name, told); err == nil {
			name = merged
		}
	}
	return sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(telemetry.IDs{}), sdktrace.WithResource(name), sdktrace.WithBatcher(exporter))
}

// watch begins to measure the engine.
func (i *instruments) watch(engine *pawl.Engine) (err error) {
	i.unwatch, err = i.Watch(engine)
	return err
}

// close exports what is left, within a bound. Spans that nobody takes are no
// failure of the server.
func (i *instruments) close() error {
	i.unwatch()
	if i.tracers != nil {
		late := time.AfterFunc(parting, i.export.giveUp)
		_ = i.tracers.Shutdown(context.Background()) // the exporter has said what is lost
		late.Stop()
		i.export.giveUp()
	}
	return i.meters.Shutdown(context.Background())
}
