package runtime

import (
	"encoding/json"
	"time"
)

// WorkflowDocument is how a deployed workflow is shown. Its JSON form is public.
type WorkflowDocument struct {
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Digest   string    `json:"digest"`
	Deployed time.Time `json:"deployed"`
	// Latest is set for the version that a start by the name takes.
	Latest bool `json:"latest"`
	// OpenRuns counts its runs that are not ended.
	OpenRuns int              `json:"open_runs"`
	Modules  []ModuleDocument `json:"modules"`
	Steps    []StepDocument   `json:"steps"`
	Limits   map[string]int64 `json:"limits"` // the run's budgets that are limited: attempts, calls, work, active_ms, recoveries and units
	Input    json.RawMessage  `json:"input_schema,omitempty"`
	// Missing are the operator's tools that the workflow names and this engine
	// does not have, sorted.
	Missing []string `json:"missing_tools"`
}

// ModuleDocument is one module of a workflow.
type ModuleDocument struct {
	Name    string   `json:"name"`
	Digest  string   `json:"digest"`
	Size    int64    `json:"size"`    // bytes
	Imports []string `json:"imports"` // "module.function", sorted
}

// StepDocument is one step of a workflow with what it may call.
type StepDocument struct {
	Name   string          `json:"name"`
	Module string          `json:"module"`
	Grants []GrantDocument `json:"grants"`
}

// GrantDocument is the permission of a step to call a tool.
type GrantDocument struct {
	Tool   string `json:"tool"`             // as the step calls it
	Use    string `json:"use,omitempty"`    // the operator's tool, where the name differs
	Effect string `json:"effect,omitempty"` // its class; empty if this engine does not have the tool
}

// Workflows returns the deployed workflows with all their versions, by name,
// the last deployed first.
func (e *Engine) Workflows() ([]WorkflowDocument, error) {
	// TODO: nothing is listed yet.
	return []WorkflowDocument{}, nil
}
