// Command counter is a module of steps. It is for the sandbox, for which
// `pawl run .` builds it; no other program needs to import it.
package main

import (
	"errors"

	"github.com/pawl-dev/pawl/steps"
)

// Input is what a run is started with; schema.json says the same.
type Input struct {
	Add int `json:"add"`
}

// Counted is what the step hands on.
type Counted struct {
	Count int `json:"count"`
}

// value is a request to the values that the store keeps: see `go doc
// github.com/pawl-dev/pawl/runtime ValueRequest`.
type value struct {
	Scope  string `json:"scope"`
	Key    string `json:"key"`
	Value  *int   `json:"value,omitempty"`
	Expect *int   `json:"expect,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

type found struct {
	Found bool `json:"found"`
	Value int  `json:"value"`
}

// The tools that the steps call; workflow.toml grants them.
var (
	get = steps.NewTool[value, found]("kv.get")
	put = steps.NewTool[value, struct{}]("kv.put")
)

func init() { steps.Handle("count", count) }

func main() {}

// count adds to a number that all runs of the workflow share. However often it
// is entered, killed and entered again, each run adds once.
func count(s *steps.Step, in Input) (Counted, error) {
	for {
		old, err := get.Call(s, value{Scope: "workflow", Key: "count"})
		if err != nil {
			return Counted{}, err
		}
		sum := old.Value + in.Add
		change := value{Scope: "workflow", Key: "count", Value: &sum, Absent: !old.Found}
		if old.Found {
			change.Expect = &old.Value
		}
		_, err = put.Call(s, change)
		var call *steps.CallError
		if errors.As(err, &call) && call.Code == "conflict" {
			continue // another run was faster
		}
		if err != nil {
			return Counted{}, err
		}
		s.Log("counted from %d to %d", old.Value, sum)
		return Counted{Count: sum}, nil
	}
}
