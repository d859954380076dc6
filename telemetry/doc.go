// Package telemetry tells OpenTelemetry what an engine does: metrics of runs,
// calls and the store, and traces of steps and calls. It uses the API of
// OpenTelemetry alone, so the program chooses what becomes of them; whoever does
// not use OpenTelemetry needs none of it.
//
//	t, err := telemetry.New(&telemetry.Options{Meter: meters, Tracer: tracers})
//	engine, err := pawl.Open(ctx, store, &pawl.Options{Observer: t.Observe})
//	stop, err := t.Watch(engine)
//
// # Metrics
//
// How many series there are is bounded by what operators set up: tools by their
// ids in the tools file, states, and the codes that the engine and the SDK of
// steps give. What steps and tools make up (codes, names of tools that they have
// no grant for) is counted as [Other]; no metric has a run's id.
//
//	pawl.runs {state, reason}              runs; now
//	pawl.runs.oldest_wait {state, reason}  seconds that the one that has been so longest has been so
//	pawl.calls {tool, outcome}             calls that were settled, or refused, since the program began
//	pawl.call.sends {tool}                 how often calls were sent: tries, not calls
//	pawl.call.duration {tool}              seconds from a call's intent to its outcome
//	pawl.steps.completed                   steps that have ended
//	pawl.attempts.failed {code}            attempts that have failed
//	pawl.recoveries                        attempts that were entered again after a crash
//	pawl.store.commits, pawl.store.syncs   batches that became durable, and the syncs that carried them
//	pawl.store.size, .free, .reserve       bytes: taken, left, and the least that must be left
//	pawl.store.condition {condition}       1 for the condition that the store is in, 0 for the others
//
// # Traces
//
// All spans of a run are in one trace, whichever processes they come from: its
// id is the run's, see [TraceID]. The run's first span is made when it starts.
// Each entry of an attempt is a span, with a link to the run's first one; each
// call that it makes is a span below that, with the tries as events. Spans hold
// names, keys, numbers and codes; never a payload, nor a message that may quote one.
package telemetry
