package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-dev/pawl/host/abi"
)

const sdk = "go/0.1"

// A module is one program, so what it consists of is known to the whole of it.
var registry struct {
	sync.Mutex // guards both maps
	steps      map[string]handler
	tools      map[string]bool
}

func register(name string, h handler) {
	if !validStepName(name) {
		panic(fmt.Sprintf("steps.Handle(%q): a step's name is [a-z][a-z0-9_]{0,63}", name))
	}
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.steps[name]; taken {
		panic(fmt.Sprintf("steps.Handle(%q): the module already has a step of that name; give one of them another", name))
	}
	if registry.steps == nil {
		registry.steps = map[string]handler{}
	}
	registry.steps[name] = h
}

// validStepName is by hand: a regular expression would be compiled at every
// entry of every step.
func validStepName(name string) bool {
	return abi.ValidCode(name) && 'a' <= name[0] && name[0] <= 'z'
}

func registerTool(id string) {
	if !abi.ValidToolName(id) {
		panic(fmt.Sprintf("steps.NewTool(%q): a tool's name is [a-z0-9_.-]{1,64}", id))
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.tools == nil {
		registry.tools = map[string]bool{}
	}
	registry.tools[id] = true
}

func handlerOf(name string) (handler, bool) {
	registry.Lock()
	defer registry.Unlock()
	h, ok := registry.steps[name]
	return h, ok
}

func stepList() string {
	registry.Lock()
	defer registry.Unlock()
	if len(registry.steps) == 0 {
		return "none (steps.Handle was not called from an init function)"
	}
	return strings.Join(slices.Sorted(maps.Keys(registry.steps)), ", ")
}

// describe says what the module consists of, sorted, so that equal modules
// describe themselves in equal bytes.
func describe() *abi.Description {
	registry.Lock()
	defer registry.Unlock()
	d := &abi.Description{ABI: abi.Version, SDK: sdk, Steps: []abi.StepDescription{}, Tools: []abi.ToolDescription{}}
	for _, name := range slices.Sorted(maps.Keys(registry.steps)) {
		d.Steps = append(d.Steps, abi.StepDescription{Name: name})
	}
	for _, name := range slices.Sorted(maps.Keys(registry.tools)) {
		d.Tools = append(d.Tools, abi.ToolDescription{Name: name})
	}
	return d
}
