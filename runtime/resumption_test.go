package runtime_test

import (
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
)

func TestResumptionTellsOfARepeatedStep(t *testing.T) {
	t.Parallel()
	step := func(name string, state pawl.RunState, attempts, calls int) pawl.StepCheckpoint {
		return pawl.StepCheckpoint{Name: name, State: state, Attempts: attempts, Calls: make([]pawl.CallCheckpoint, calls)}
	}
	before := &pawl.Checkpoint{
		ExternalID: "r1", ResumeFrom: "two", CompletedSteps: []string{"one"},
		Steps: []pawl.StepCheckpoint{step("one", pawl.StateCompleted, 1, 2), step("two", pawl.StateInterrupted, 1, 1)},
	}
	for _, row := range []struct {
		name     string
		one      pawl.StepCheckpoint
		repeated bool
	}{
		{"untouched", step("one", pawl.StateCompleted, 1, 2), false},
		{"another attempt", step("one", pawl.StateCompleted, 2, 2), true},
		{"another call", step("one", pawl.StateCompleted, 1, 3), true},
		{"open again", step("one", pawl.StateRunning, 1, 2), true},
		{"gone", step("uno", pawl.StateCompleted, 1, 2), true},
	} {
		after := &pawl.Checkpoint{
			ExternalID: "r1", State: pawl.StateCompleted, CompletedSteps: []string{row.one.Name, "two"},
			Steps: []pawl.StepCheckpoint{row.one, step("two", pawl.StateCompleted, 2, 3)},
		}
		if r := pawl.CompareResume(before, after); r.RepeatedCompletedSteps != row.repeated || r.ResumeFrom != "two" || r.Run != "r1" {
			t.Errorf("%s: %+v", row.name, r)
		}
	}
}
