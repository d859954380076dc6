// Command hostile is a module of steps that puts whatever it is given wherever a
// guest can. It is for the tests of the panel.
package main

import "github.com/pawl-dev/pawl/steps"

// Input says what to say, and how to end.
type Input struct {
	Say string `json:"say"`
	End string `json:"end"`
}

var (
	ask  = steps.NewTool[map[string]string, map[string]any]("hostile.ask")
	tell = steps.NewTool[map[string]string, map[string]any]("hostile.tell")
)

func init() { steps.Handle("talk", talk) }

func main() {}

func talk(s *steps.Step, in Input) (map[string]any, error) {
	s.Log("%s", in.Say)
	s.Logger().Error(in.Say, in.Say, in.Say)
	answer, err := ask.Call(s, map[string]string{in.Say: in.Say})
	if err != nil {
		return nil, err
	}
	switch in.End {
	case "fails":
		return nil, steps.Fail("hostile", "%s", in.Say)
	case "panics":
		panic(in.Say)
	case "told":
		if _, err := tell.Call(s, map[string]string{in.Say: in.Say}); err != nil {
			return nil, err
		}
	}
	return map[string]any{in.Say: in.Say, "answer": answer}, nil
}
