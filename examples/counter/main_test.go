package main

import (
	"encoding/json"
	"testing"

	"github.com/pawl-dev/pawl/steps"
)

// A step runs natively, as an ordinary function, with fakes for its tools.
func TestCountGoesOnFromWhatIsThere(t *testing.T) {
	var written value
	out, err := steps.Test("count", Input{Add: 2}, steps.Tools{
		"kv.get": func(json.RawMessage) (any, error) { return found{Found: true, Value: 40}, nil },
		"kv.put": func(req json.RawMessage) (any, error) { return struct{}{}, json.Unmarshal(req, &written) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != `{"count":42}` || written.Expect == nil || *written.Expect != 40 {
		t.Errorf("output %s, written %+v", out, written)
	}
}

// Another run was faster: the step reads again.
func TestCountMeetsAConflict(t *testing.T) {
	present := 1
	out, err := steps.Test("count", Input{Add: 1}, steps.Tools{
		"kv.get": func(json.RawMessage) (any, error) { return found{Found: true, Value: present}, nil },
		"kv.put": func(req json.RawMessage) (any, error) {
			var change value
			if err := json.Unmarshal(req, &change); err != nil {
				return nil, err
			}
			if present == 1 {
				present = 5 // the other run
			}
			if *change.Expect != present {
				return nil, steps.Answer(steps.ErrRejected, "conflict", "the value is not the expected one")
			}
			return struct{}{}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != `{"count":6}` {
		t.Errorf("output %s", out)
	}
}
