package manifest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host/expr"
)

// Step is one step of a workflow.
type Step struct {
	Name   string
	Module string // file name
	// Tools are those that the step may call, in the order of the file.
	Tools  []Grant
	Retry  Retry
	Limits Limits

	with   []field // nil: the step gets the output of the one before
	output *schema
}

// Grant is the permission to call a tool.
type Grant struct {
	Name string // as the step calls it
	Use  string // the operator's tool. Defaults to Name
}

// Defaults of a step's retries.
const (
	DefaultBackoff    = time.Second
	DefaultMaxBackoff = time.Minute
)

// Retry says how often a step is attempted, the first attempt included, over
// all processes.
type Retry struct {
	// Attempts defaults to 1.
	Attempts int
	// Backoff is the wait before the second attempt; it doubles up to
	// MaxBackoff. They default to DefaultBackoff and DefaultMaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// Limits bound one execution of a step. 0 means the runtime's default for the
// memory, and no limit of calls and of work.
type Limits struct {
	MemoryPages uint32 // of 64 KiB
	Calls       int
	Work        int64 // in the units of the sandbox
}

// field is one field of `with`.
type field struct {
	name    string
	program *expr.Program
}

// Input makes the step's input: the object that `with` describes over the run's
// input and the outputs of earlier steps by name, or else previous, which is the
// output of the step before (the run's input for the first step). The error is a
// [*WithError].
func (s *Step) Input(input json.RawMessage, outputs map[string]json.RawMessage, previous json.RawMessage) (json.RawMessage, error) {
	if s.with == nil {
		return previous, nil
	}
	object := make(map[string]any, len(s.with))
	vars := map[string]any{}
	for _, f := range s.with {
		if err := f.bind(vars, input, outputs); err != nil {
			return nil, &WithError{Step: s.Name, Field: f.name, Err: err}
		}
		value, err := f.program.Eval(vars)
		if err != nil {
			return nil, &WithError{Step: s.Name, Field: f.name, Err: err}
		}
		object[f.name] = value
	}
	return expr.Encode(object)
}

// bind decodes what the expression uses and is not in vars yet: outputs may be
// large, and most expressions use one.
func (f field) bind(vars map[string]any, input json.RawMessage, outputs map[string]json.RawMessage) error {
	if err := f.bindOne(vars, inputVar, input); err != nil {
		return err
	}
	for name, output := range outputs {
		if err := f.bindOne(vars, stepVar(name), output); err != nil {
			return err
		}
	}
	return nil
}

func (f field) bindOne(vars map[string]any, variable string, text json.RawMessage) (err error) {
	if _, there := vars[variable]; there || !f.program.Uses(variable) {
		return nil
	}
	if vars[variable], err = expr.Decode(text); err != nil {
		return fmt.Errorf("%s: %w", variable, err)
	}
	return nil
}

// CheckOutput checks the step's output against its schema, if it has one. The
// error is a [*SchemaError].
func (s *Step) CheckOutput(json []byte) error { return s.output.check("output of "+s.Name, json) }

const inputVar = "input"

func stepVar(step string) string { return "steps." + step }
