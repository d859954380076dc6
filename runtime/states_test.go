package runtime_test

import (
	"encoding/json"
	"slices"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// Every state that a document may have can be asked for.
//
// Seen red with a state left out.
func TestRunStatesAreThoseOfTheSchema(t *testing.T) {
	t.Parallel()
	var schema struct {
		Properties struct {
			State struct{ Enum []pawl.RunState }
		}
	}
	if err := json.Unmarshal(pawl.CheckpointSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	want, got := schema.Properties.State.Enum, pawl.RunStates()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%v, and the schema has %v", got, want)
	}
}
