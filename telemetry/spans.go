package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/trace"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// spans makes spans of what runs do. Events come from two goroutines a run: from
// the one that executes it, and, for what has become durable, from one that may
// be behind. So a step may be told to have completed when the next one has begun.
type spans struct {
	tracer trace.Tracer

	mu sync.Mutex // guards open; no span is started or ended under it
	// open are the entries of attempts that have not ended, by run. A run has one,
	// or for a moment two.
	open map[string][]*entry
}

func newSpans(tracer trace.Tracer) *spans {
	return &spans{tracer: tracer, open: map[string][]*entry{}}
}

func (s *spans) observe(e *pawl.Event) {
	switch e.Kind {
	case pawl.Started:
		s.first(e.Run)
	case pawl.Begun:
		s.begin(e)
	case pawl.BeforeIntent, pawl.Sent, pawl.Asked, pawl.Retrying:
		if a := s.find(e); a != nil {
			a.tell(s.tracer, e)
		}
	case pawl.Answered, pawl.ReceiptDurable, pawl.Refused, pawl.Claimed:
		if a := s.find(e); a != nil {
			a.answered(s.tracer, e)
		}
	case pawl.StepCompleted, pawl.AttemptFailed, pawl.Parked, pawl.Waiting, pawl.Stopped:
		if a := s.take(e); a != nil {
			a.end(e)
		}
	case pawl.Interrupted, pawl.Completed: // the run has left
		for _, a := range s.takeAll(e.Run) {
			a.end(e)
		}
	default: // nothing that a span tells
	}
}

// first makes the run's first span: a moment, since a run may outlive every
// process, and a span does not.
func (s *spans) first(run string) {
	ctx := context.WithValue(root(run), spanIDKey{}, first(run).SpanID())
	_, span := s.tracer.Start(ctx, "run", trace.WithAttributes(runKey.String(run)))
	span.End()
}

// begin makes the span of an entry. An earlier one of the same attempt is over,
// although nothing has said so.
func (s *spans) begin(e *pawl.Event) {
	if before := s.take(e); before != nil {
		before.end(e)
	}
	a := newEntry(s.tracer, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[e.Run] = append(s.open[e.Run], a)
}

func (s *spans) find(e *pawl.Event) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open[e.Run] {
		if a.of(e) {
			return a
		}
	}
	return nil
}

// take finds the entry, which is not open from then on.
func (s *spans) take(e *pawl.Event) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := s.open[e.Run]
	for i, a := range open {
		if !a.of(e) {
			continue
		}
		if len(open) == 1 {
			delete(s.open, e.Run)
		} else {
			s.open[e.Run] = append(open[:i:i], open[i+1:]...)
		}
		return a
	}
	return nil
}

func (s *spans) takeAll(run string) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.open[run]
	delete(s.open, run)
	return all
}
