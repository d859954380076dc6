package steps

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/pawl-dev/pawl/host/abi"
)

// Step is one execution of a step: its way out. It is valid until the step's
// function returns, and may be used by several goroutines of the step.
type Step struct {
	name   string
	out    outside
	logger *slog.Logger
}

// outside is what surrounds a step: the sandbox, or the fakes of a test.
type outside interface {
	// call makes one call. An error means that there was no result to give.
	call(tool string, head abi.CallHead, body []byte) (*result, error)
	put(kind abi.PutKind, data []byte)
}

type result struct {
	status abi.Status
	head   abi.ResultHead
	body   []byte
}

// Name returns the name under which the step was registered.
func (s *Step) Name() string { return s.name }

type handler func(s *Step, input []byte) ([]byte, error)

// Handle registers f as the step of that name, [a-z][a-z0-9_]{0,63}. It is
// called from an init function; the name is the one in workflow.toml. The input
// is read from JSON into In, the output written as JSON. An output returned
// beside an error is dropped.
//
// An error ends the attempt. [Fail] says that no other helps, [NotYet] that the
// next one has to wait for something. After any other error there is a next
// attempt, if workflow.toml allows one, only where it can come to something
// else: where a call failed and will be made again (see [CallError]'s
// Retryable). The rest of an attempt repeats exactly, so without such a call the
// same error would come again, and the step fails at once, with attempts left.
//
// It panics if the name is not allowed or already taken: a module in which that
// happens cannot be loaded at all.
func Handle[In, Out any](name string, f func(s *Step, in In) (Out, error)) {
	if f == nil {
		panic(fmt.Sprintf("steps.Handle(%q): the function is nil", name))
	}
	register(name, func(s *Step, input []byte) ([]byte, error) {
		var in In
		if err := decode(input, &in); err != nil {
			return nil, Fail("bad_input", "step %s: the input does not fit %T: %w", name, in, err)
		}
		out, err := f(s, in)
		if err != nil {
			return nil, err
		}
		text, err := encode(out)
		if err != nil {
			return nil, Fail("bad_output", "step %s: %T cannot be written as JSON: %w", name, out, err)
		}
		return text, nil
	})
}

// run is the one way into a step, for the sandbox and for tests.
func run(name string, input []byte, o outside) (output []byte, failure *Failure) {
	h, ok := handlerOf(name)
	if !ok {
		return nil, asFailure(Fail("no_such_step", "the module has no step %q; it has %s", name, stepList()))
	}
	defer func() {
		if v := recover(); v != nil {
			output, failure = nil, panicked(v)
		}
	}()
	s := &Step{name: name, out: o, logger: newLogger(o)}
	output, err := h(s, input)
	if err != nil {
		return nil, asFailure(err)
	}
	return output, nil
}

// decode reads JSON; numbers that go into an any stay what they are.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// encode writes JSON as it is sent: the same value gives the same bytes, and
// < > & stay themselves, since nothing here is HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
