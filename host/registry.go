package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-dev/pawl/host/abi"
)

// Registry is the tools that an operator offers, by their ids. It does not
// change and may be used concurrently; a nil Registry is empty.
type Registry struct{ tools map[string]Tool }

// NewRegistry returns a registry of the tools. It returns a [*ContractError]
// for an id that is no name or is used twice, for a contract that makes no
// sense, and for a tool that can be asked without its contract saying so, or
// the other way round.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]Tool, len(tools))}
	for _, tool := range tools {
		if err := checkTool(tool); err != nil {
			return nil, err
		}
		if r.tools[tool.ID()] != nil {
			return nil, &ContractError{Tool: tool.ID(), Field: "id", Reason: "two tools have it; give one another name"}
		}
		r.tools[tool.ID()] = tool
	}
	return r, nil
}

func checkTool(tool Tool) error {
	if tool == nil {
		return &ContractError{Field: "id", Reason: "a tool is nil"}
	}
	id, contract := tool.ID(), tool.Contract()
	if !abi.ValidToolName(id) {
		return &ContractError{Tool: id, Field: "id", Reason: "a tool's name is [a-z0-9_.-]{1,64}"}
	}
	if err := contract.Validate(); err != nil {
		var e *ContractError
		if errors.As(err, &e) {
			e.Tool = id
		}
		return err
	}
	if _, ok := tool.(Verifier); ok != contract.Verifies {
		reason := "the contract says that the tool can be asked, but it has no method Verify"
		if ok {
			reason = "the tool has a method Verify, but its contract does not say that it can be asked"
		}
		return &ContractError{Tool: id, Field: "verifies", Reason: fmt.Sprintf("%s (%T)", reason, tool)}
	}
	return nil
}

// Tool returns the tool with the id.
func (r *Registry) Tool(id string) (Tool, bool) {
	if r == nil {
		return nil, false
	}
	tool, ok := r.tools[id]
	return tool, ok
}

// IDs returns the ids of all tools in their order.
func (r *Registry) IDs() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.tools))
}
