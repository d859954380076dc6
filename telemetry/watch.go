package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Engine is what is measured; a *pawl.Engine is one.
type Engine interface {
	Health() pawl.Health
	List(q *pawl.Query) (*pawl.Page, error)
}

var _ Engine = (*pawl.Engine)(nil)

// Watch measures the engine whenever somebody collects the metrics, until stop
// is called; stop waits for no collection. Each collection asks for the engine's
// health and for one page of its list. Measure one engine by one meter provider:
// those of two would be mixed up. Without a meter it does nothing.
func (t *Telemetry) Watch(engine Engine) (stop func(), err error) {
	if t.counters == nil {
		return func() {}, nil
	}
	g, err := newGauges(t.meter)
	if err != nil {
		return nil, err
	}
	registration, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		health := engine.Health()
		g.store(o, &health.Store)
		page, err := engine.List(&pawl.Query{Limit: 1})
		if err != nil {
			return fmt.Errorf("telemetry: the runs cannot be counted: %w", err)
		}
		g.runs(o, page.Counts, time.Now())
		return nil
	}, g.all...)
	if err != nil {
		return nil, err
	}
	return func() { _ = registration.Unregister() }, nil // it fails only for registrations that are none
}

// gauges are what is looked up when somebody asks.
type gauges struct {
	count, size, free, reserve, condition metric.Int64ObservableGauge
	commits, syncs                        metric.Int64ObservableCounter
	oldest                                metric.Float64ObservableGauge
	all                                   []metric.Observable
}

func newGauges(m metric.Meter) (*gauges, error) {
	g := new(gauges)
	var errs []error
	gauge := func(name, unit, what string) metric.Int64ObservableGauge {
		i, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(what))
		g.all, errs = append(g.all, i), append(errs, err)
		return i
	}
	counter := func(name, unit, what string) metric.Int64ObservableCounter {
		i, err := m.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
		g.all, errs = append(g.all, i), append(errs, err)
		return i
	}
	g.count = gauge("pawl.runs", "{run}", "Runs by state, and by the code of the reason why they do not move.")
	g.size = gauge("pawl.store.size", "By", "What the store takes on the disk.")
	g.free = gauge("pawl.store.free", "By", "What is left on the store's disk.")
	g.reserve = gauge("pawl.store.reserve", "By", "The least that must be left on the store's disk for it to be written.")
	g.condition = gauge("pawl.store.condition", "{store}", "1 for the condition that the store is in, 0 for the others.")
	g.commits = counter("pawl.store.commits", "{commit}", "Batches that became durable.")
	g.syncs = counter("pawl.store.syncs", "{sync}", "Physical commits that carried the batches.")
	var err error
	g.oldest, err = m.Float64ObservableGauge("pawl.runs.oldest_wait", metric.WithUnit("s"),
		metric.WithDescription("How long the run that has been in the state for the reason longest has been so."))
	g.all = append(g.all, g.oldest)
	return g, errors.Join(append(errs, err)...)
}

func (g *gauges) store(o metric.Observer, h *kv.Health) {
	o.ObserveInt64(g.commits, int64(h.Commits))
	o.ObserveInt64(g.syncs, int64(h.Syncs))
	for gauge, bytes := range map[metric.Int64Observable]int64{g.size: h.Size, g.free: h.Free, g.reserve: h.Reserve} {
		if h.Size > 0 { // else they are not known
			o.ObserveInt64(gauge, bytes)
		}
	}
	for _, c := range []kv.Condition{kv.Healthy, kv.Full, kv.Broken, kv.Held} {
		is := int64(0)
		if c == h.Condition {
			is = 1
		}
		o.ObserveInt64(g.condition, is, metric.WithAttributes(attribute.String("condition", string(c))))
	}
}

// standing is a state with a reason, as metrics tell it.
type standing struct {
	state  pawl.RunState
	reason string
}

// runs puts together what differs only in what steps make up.
func (g *gauges) runs(o metric.Observer, counts []pawl.Count, now time.Time) {
	runs, oldest := map[standing]int{}, map[standing]time.Time{}
	for _, c := range counts {
		s := standing{c.State, codeLabel(c.Reason)}
		runs[s] += c.Runs
		if was := oldest[s]; !c.Oldest.IsZero() && (was.IsZero() || c.Oldest.Before(was)) {
			oldest[s] = c.Oldest
		}
	}
	for s, n := range runs {
		with := metric.WithAttributeSet(attribute.NewSet(
			attribute.String("state", string(s.state)), attribute.String("reason", s.reason)))
		o.ObserveInt64(g.count, int64(n), with)
		if since := oldest[s]; !since.IsZero() {
			o.ObserveFloat64(g.oldest, max(0, now.Sub(since).Seconds()), with)
		}
	}
}
