// Command script is a step module for tests: every step does what the program
// in its input says, so that a test reads as one piece.
package main

import (
	crand "crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pawl-dev/pawl/steps"
)

// Program is a list of operations, done in order; the results of the calls are
// the step's output.
type Program struct {
	Do []Op `json:"do"`
}

// Op is one operation; the first field that is set says which.
type Op struct {
	// Call calls a tool; an error fails the step, unless Ignore is set.
	Call    string          `json:"call,omitempty"`
	Request json.RawMessage `json:"request,omitempty"`
	Ignore  bool            `json:"ignore,omitempty"`
	// Transcript adds all results so far to the request.
	Transcript bool   `json:"transcript,omitempty"`
	Drop       bool   `json:"drop,omitempty"`    // the result is no output
	Key        string `json:"key,omitempty"`     // business key of the call
	Unknown    bool   `json:"unknown,omitempty"` // wants to see an unknown outcome
	// Else is done when the call failed and Ignore is set.
	Else []Op `json:"else,omitempty"`

	Fail   string `json:"fail,omitempty"`    // fails for good with this code
	Error  string `json:"error,omitempty"`   // fails with a plain error
	NotYet string `json:"not_yet,omitempty"` // is not ready yet
	After  int    `json:"after,omitempty"`   // hours until NotYet is ready, instead of a moment
	Panic  string `json:"panic,omitempty"`
	Log    string `json:"log,omitempty"`
	Write  string `json:"write,omitempty"` // to stdout, as it is
	Lines  int    `json:"lines,omitempty"` // logs so many of 100 bytes
	Tell   bool   `json:"tell,omitempty"`  // logs the results so far
	// Chance calls the tool with the time, random numbers and the order of a
	// map as its request.
	Chance string `json:"chance,omitempty"`
	// Entropy calls the tool with bytes of crypto/rand as its request.
	Entropy string `json:"entropy,omitempty"`
	// Big adds an output of so many bytes.
	Big  int  `json:"big,omitempty"`
	Loop bool `json:"loop,omitempty"` // for ever
	// Rounds of a loop are done.
	Rounds int `json:"rounds,omitempty"`
	// Eat takes memory until there is none.
	Eat bool `json:"eat,omitempty"`
}

var tools = map[string]steps.Tool[json.RawMessage, json.RawMessage]{}

func init() {
	for _, id := range []string{"read", "keyed", "asked", "once", "charged", "flaky", "kv.get", "kv.put", "kv.delete"} {
		tools[id] = steps.NewTool[json.RawMessage, json.RawMessage](id)
	}
	for _, name := range []string{"one", "two", "three", "four"} {
		steps.Handle(name, run)
	}
}

// rounds is what keeps a loop from being left out.
var rounds int

func main() {}

func run(s *steps.Step, p Program) ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	err := do(s, p.Do, &out)
	return out, err
}

func do(s *steps.Step, ops []Op, out *[]json.RawMessage) error {
	for _, op := range ops {
		if err := one(s, op, out); err != nil {
			return err
		}
	}
	return nil
}

func one(s *steps.Step, op Op, out *[]json.RawMessage) error {
	switch {
	case op.Call != "":
		return call(s, op.Call, op.Request, op, out)
	case op.Chance != "":
		return call(s, op.Chance, chance(), op, out)
	case op.Entropy != "":
		return call(s, op.Entropy, entropy(), op, out)
	case op.Fail != "":
		return steps.Fail(op.Fail, "told to fail")
	case op.Error != "":
		return errors.New(op.Error)
	case op.NotYet != "":
		return steps.NotYet(time.Millisecond+time.Duration(op.After)*time.Hour, "%s", op.NotYet)
	case op.Panic != "":
		panic(op.Panic)
	case op.Log != "":
		s.Log("%s", op.Log)
	case op.Write != "":
		fmt.Print(op.Write)
	case op.Lines > 0:
		for i := range op.Lines {
			s.Log("%0100d", i)
		}
	case op.Tell:
		s.Log("%s", *out)
	case op.Big > 0:
		big, err := json.Marshal(string(make([]byte, op.Big)))
		*out = append(*out, big)
		return err
	case op.Loop:
		for {
		}
	case op.Rounds > 0:
		for range op.Rounds {
			rounds++
		}
	case op.Eat:
		var eaten [][]byte
		for {
			eaten = append(eaten, make([]byte, 1<<20))
		}
	}
	return nil
}

func call(s *steps.Step, tool string, request json.RawMessage, op Op, out *[]json.RawMessage) error {
	t, ok := tools[tool]
	if !ok {
		return fmt.Errorf("script: no tool %q", tool)
	}
	if len(request) == 0 {
		request = json.RawMessage(`{}`)
	}
	if op.Transcript {
		request, _ = json.Marshal(map[string]any{"ask": request, "transcript": *out}) // both are JSON
	}
	var opts []steps.CallOption
	if op.Key != "" {
		opts = append(opts, steps.Key(op.Key))
	}
	if op.Unknown {
		opts = append(opts, steps.SeeUnknown())
	}
	res, err := t.Call(s, request, opts...)
	if err == nil && !op.Drop {
		*out = append(*out, res)
	}
	if err == nil {
		return nil
	}
	if !op.Ignore {
		return err
	}
	told, _ := json.Marshal(err.Error())
	*out = append(*out, told)
	return do(s, op.Else, out)
}

func entropy() json.RawMessage {
	bytes := make([]byte, 16)
	_, _ = crand.Read(bytes) // never fails
	text, _ := json.Marshal(map[string]string{"entropy": hex.EncodeToString(bytes)})
	return text
}

func chance() json.RawMessage {
	keys := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}
	var order string
	for k := range keys {
		order += k
	}
	text, _ := json.Marshal(map[string]any{
		"time": time.Now().Format(time.RFC3339Nano), "random": rand.Uint64() >> 12, "order": order,
	})
	return text
}
