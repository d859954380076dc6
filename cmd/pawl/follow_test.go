package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// An output is printed to be read, unless reading it would take more memory than
// the machine has.
//
// Seen red with all JSON indented.
func TestOutputsAreIndented(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 900) + "1" + strings.Repeat(",1", 10_000) + strings.Repeat("]", 900)
	for raw, want := range map[string]string{
		`{"a":[1,"]}{[,\""]}`: "{\n  \"a\": [\n    1,\n    \"]}{[,\\\"\"\n  ]\n}",
		`null`:                "null",
		deep:                  deep,
	} {
		got, err := indented(json.RawMessage(raw))
		if err != nil || string(got) != want {
			t.Errorf("%.80s: %.80s, %v", raw, got, err)
		}
	}
}
