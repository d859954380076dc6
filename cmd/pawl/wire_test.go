package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/tomlfile"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// across is what a command gets of an error that the server tells.
func across(t *testing.T, err error) error {
	t.Helper()
	text, failed := json.Marshal(tell(err))
	if failed != nil {
		t.Fatal(failed)
	}
	told := new(toldError)
	if err := json.Unmarshal(text, told); err != nil {
		t.Fatal(err)
	}
	return told
}

// Seen red with what an error matched left on the server's side, and with the
// exit status left there.
func TestAnErrorIsToldTheSameThroughTheSocket(t *testing.T) {
	t.Parallel()
	incompatible := &pawl.IncompatibleError{Run: "r", Differences: []pawl.Difference{{Pin: "arch", What: "amd64"}}}
	refused := &pawl.IncompatibleError{Differences: []pawl.Difference{{Pin: "tool a", What: "missing"}}}
	for name, err := range map[string]error{
		"not found":              fmt.Errorf("%w: no run x", pawl.ErrNotFound),
		"already running":        fmt.Errorf("%w: run r, by e", pawl.ErrAlreadyRunning),
		"conflict":               pawl.ErrInputConflict,
		"held":                   &pawl.HeldError{Reason: "it is a copy"},
		"no space":               fmt.Errorf("%w: %w", pawl.ErrUnavailable, kv.ErrNoSpace),
		"damaged":                &kv.DamageError{File: "d/1.sst", Reason: "short"},
		"undecodable":            fmt.Errorf("x: %w", pawl.ErrUndecodable),
		"incompatible":           fmt.Errorf("x: %w", incompatible),
		"incompatible from here": refused,
		"input":                  &pawl.InputError{Workflow: "w", Err: errors.New("/order: got number")},
		"an id":                  fmt.Errorf("%w: external id", pawl.ErrInvalidInput),
		"budget":                 &pawl.StepError{Run: "r", Step: "s", Attempt: 2, Err: pawl.ErrBudgetSpent, Hint: "ask ana"},
		"deterministic":          &pawl.StepError{Run: "r", Step: "s", Attempt: 2, Err: pawl.ErrDeterministic},
		"an unknown outcome":     &pawl.StepError{Run: "r", Step: "s", Err: &host.UndecidedError{Tool: "pay", Reason: "no answer"}},
		"a file":                 tomlfile.Errors{{File: "workflow.toml", Line: 3, Column: 1, Message: "no"}},
		"anything":               errors.New("module x: odd"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := across(t, err)
			for what, seen := range map[string]func(error) any{
				"problem":   func(err error) any { return problemOf(err) },
				"of a run":  func(err error) any { return problemOf(named(err, "refund-T1")) },
				"of a file": func(err error) any { return problemOf(invalidFolder(err)) },
				"start": func(err error) any {
					return (&runCommand{ID: "refund-T1"}).refused(err, nil)
				},
				"resume": func(err error) any {
					c := &resumeCommand{Ref: "refund-T1"}
					return c.refused(new(Globals), err, &pawl.Checkpoint{ExternalID: "refund-T1", State: pawl.StateFailed}, nil)
				},
			} {
				if diff := cmp.Diff(seen(err), seen(there)); diff != "" {
					t.Errorf("%s (without a server -, with one +):\n%s", what, diff)
				}
			}
		})
	}
}

// Whoever adds a field to an event finds out that it crosses the socket too.
// Seen red with the outcome left behind.
func TestAnEventCrossesTheSocketWhole(t *testing.T) {
	t.Parallel()
	var e pawl.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		fill(t, v.Field(i), i+1)
	}
	text, err := json.Marshal(wireLine{Event: onWire(e)})
	if err != nil {
		t.Fatal(err)
	}
	var line wireLine
	if err := json.Unmarshal(text, &line); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, line.Event.event()); diff != "" {
		t.Error(diff)
	}
}

// fill gives a field a value that is not its zero.
func fill(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Array:
		v.Index(0).SetUint(uint64(n))
	case reflect.Struct:
		if err := v.Addr().Interface().(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte("2026-11-29T03:13:02.5Z")); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("nobody knows how to fill a %s", v.Type())
	}
}
