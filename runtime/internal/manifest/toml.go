package manifest

import "github.com/pawl-dev/pawl/host/tomlfile"

// document is workflow.toml as it is written.
type document struct {
	Pawl     int                    `toml:"pawl"`
	Workflow workflowTable          `toml:"workflow"`
	Budget   budgetTable            `toml:"budget"`
	Steps    []stepTable            `toml:"step"`
	Modules  map[string]moduleTable `toml:"module"`
}

type workflowTable struct {
	Name      string            `toml:"name"`
	Version   string            `toml:"version"`
	Title     string            `toml:"title"`
	Labels    map[string]string `toml:"labels"`
	Input     any               `toml:"input"`
	Deadline  tomlfile.Duration `toml:"deadline"`
	OnFailure string            `toml:"on_failure"`
}

type budgetTable struct {
	Attempts   int               `toml:"attempts"`
	Calls      int               `toml:"calls"`
	Recoveries int               `toml:"recoveries"`
	ActiveTime tomlfile.Duration `toml:"active_time"`
	Units      map[string]int64  `toml:"units"`
	Work       int64             `toml:"work"`
}

type stepTable struct {
	Name   string               `toml:"name"`
	Module string               `toml:"module"`
	Tools  []string             `toml:"tools"`
	With   map[string]string    `toml:"with"`
	Output any                  `toml:"output"`
	Retry  retryTable           `toml:"retry"`
	Limits limitsTable          `toml:"limits"`
	Tool   map[string]toolTable `toml:"tool"`
	Needs  any                  `toml:"needs" notyet:"steps run one after the other, in the order of the file, until branches exist; remove it"`
	When   any                  `toml:"when" notyet:"conditions on steps do not exist yet; remove it, and let the step itself decide"`
	Each   any                  `toml:"each" notyet:"a step for each item does not exist yet; remove it, and let the step go over the items"`
}

type retryTable struct {
	Attempts   int               `toml:"attempts"`
	Backoff    tomlfile.Duration `toml:"backoff"`
	MaxBackoff tomlfile.Duration `toml:"max_backoff"`
}

type limitsTable struct {
	Memory tomlfile.Size `toml:"memory"`
	Calls  int           `toml:"calls"`
	Work   int64         `toml:"work"`
}

type toolTable struct {
	Use      string `toml:"use"`
	Approve  any    `toml:"approve" notyet:"approvals do not exist yet; remove it"`
	Approver any    `toml:"approver" notyet:"approvals do not exist yet; remove it"`
}

type moduleTable struct {
	Go string `toml:"go"`
}
