package telemetry

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// counters are what is counted as it happens.
type counters struct {
	calls, sends, steps, failures, recoveries metric.Int64Counter
	duration                                  metric.Float64Histogram

	mu sync.RWMutex // guards what follows
	// sets are the attributes that were used before, ready to use: there is a
	// bounded number of them, and making them takes longer than counting.
	sets map[labels]metric.MeasurementOption
}

// labels are two attributes; the second may be missing.
type labels struct {
	name, value, second, is string
}

func newCounters(m metric.Meter) (*counters, error) {
	c := &counters{sets: map[labels]metric.MeasurementOption{}}
	var errs []error
	counter := func(name, unit, what string) metric.Int64Counter {
		i, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return i
	}
	c.calls = counter("pawl.calls", "{call}", "Calls that were settled, or refused, by the operator's id of the tool and what came of them.")
	c.sends = counter("pawl.call.sends", "{send}", "How often calls were sent: tries, not calls.")
	c.steps = counter("pawl.steps.completed", "{step}", "Steps that have ended.")
	c.failures = counter("pawl.attempts.failed", "{attempt}", "Attempts of steps that have failed, by code.")
	c.recoveries = counter("pawl.recoveries", "{recovery}", "Attempts that were entered again after a crash.")
	var err error
	c.duration, err = m.Float64Histogram("pawl.call.duration", metric.WithUnit("s"),
		metric.WithDescription("From a call's intent, in this process, to its outcome."),
		// From a tool in the program to a model that thinks.
		metric.WithExplicitBucketBoundaries(.001, .005, .02, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	return c, errors.Join(append(errs, err)...)
}

func (c *counters) observe(e *pawl.Event) {
	ctx := context.Background()
	switch e.Kind {
	case pawl.ReceiptDurable: // once for each call that is settled, also by a later process
		tool := toolLabel(e)
		c.calls.Add(ctx, 1, c.with(labels{"tool", tool, "outcome", e.Outcome.String()}))
		c.duration.Record(ctx, e.Elapsed.Seconds(), c.with(labels{name: "tool", value: tool}))
	case pawl.Refused:
		c.calls.Add(ctx, 1, c.with(labels{"tool", toolLabel(e), "outcome", refused}))
	case pawl.Sent:
		c.sends.Add(ctx, 1, c.with(labels{name: "tool", value: toolLabel(e)}))
	case pawl.StepCompleted:
		c.steps.Add(ctx, 1)
	case pawl.AttemptFailed:
		c.failures.Add(ctx, 1, c.with(labels{name: "code", value: codeLabel(e.Code)}))
	case pawl.Recovered:
		c.recoveries.Add(ctx, 1)
	default: // counted by others, or not at all
	}
}

// with makes attributes of labels.
func (c *counters) with(l labels) metric.MeasurementOption {
	c.mu.RLock()
	set, ok := c.sets[l]
	c.mu.RUnlock()
	if ok {
		return set
	}
	attributes := []attribute.KeyValue{attribute.String(l.name, l.value)}
	if l.second != "" {
		attributes = append(attributes, attribute.String(l.second, l.is))
	}
	set = metric.WithAttributeSet(attribute.NewSet(attributes...))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets[l] = set
	return set
}
