// Package telemetry tells OpenTelemetry what an engine does: metrics of runs,
// calls and the store, and traces of steps and calls. It uses the API of
// OpenTelemetry alone, so the program chooses what becomes of them; whoever does
// not use OpenTelemetry needs none of it.
package telemetry
