package runtime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
	"github.com/pawl-dev/pawl/runtime/internal/wasm"
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
	// Limits are the run's budgets that are limited: attempts, calls, work,
	// active_ms, recoveries, and named units, after "units." where one is called
	// like one of those.
	Limits map[string]int64 `json:"limits"`
	Input  json.RawMessage  `json:"input_schema,omitempty"`
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

// Workflows returns the deployed workflows with all their versions, by name, the
// one that the name means first, then the last deployed. Those that cannot be
// read are left out, and are in the error; the others are returned all the same.
func (e *Engine) Workflows() ([]WorkflowDocument, error) {
	all, named, bad := e.book.AllDeployed()
	open := map[uint64]int{}
	err := e.book.EachOpen(func(_ string, l *journal.Listing) { open[l.Version]++ })
	if err != nil {
		return nil, err
	}
	docs := make([]WorkflowDocument, 0, len(all))
	for digest, d := range all {
		w, err := e.workflow(digest)
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		doc, err := w.document()
		if err != nil {
			bad = errors.Join(bad, fmt.Errorf("workflow %s: %w", digest, err))
			continue
		}
		doc.Deployed = time.UnixMicro(d.At).UTC()
		doc.Latest, doc.OpenRuns = named[d.Name] == digest, open[journal.ShortDigest(digest)]
		docs = append(docs, *doc)
	}
	slices.SortFunc(docs, func(a, b WorkflowDocument) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), last(a.Latest, b.Latest), b.Deployed.Compare(a.Deployed), strings.Compare(a.Digest, b.Digest))
	})
	return docs, bad
}

// last orders what is the last before what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// document is what of a workflow's document does not change, but for the tools
// that this engine has.
func (w *Workflow) document() (*WorkflowDocument, error) {
	doc := &WorkflowDocument{
		Name: w.Name(), Version: w.Version(), Digest: w.digest, Limits: w.limited(), Input: w.manifest.InputSchema(),
		Modules: []ModuleDocument{}, Steps: []StepDocument{}, Missing: []string{},
	}
	for _, name := range slices.Sorted(maps.Keys(w.deployed.Modules)) {
		ref := w.deployed.Modules[name]
		imports, err := w.engine.imports.of(ref, w.engine.book.Module)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
		doc.Modules = append(doc.Modules, ModuleDocument{Name: name, Digest: ref.Digest(), Size: ref.Size, Imports: imports})
	}
	for i := range w.manifest.Steps {
		step := &w.manifest.Steps[i]
		doc.Steps = append(doc.Steps, StepDocument{Name: step.Name, Module: step.Module, Grants: w.engine.grants(step)})
	}
	for _, id := range w.toolIDs() {
		if _, ok := w.engine.tool(id); !ok {
			doc.Missing = append(doc.Missing, id)
		}
	}
	return doc, nil
}

// grants are what a step may call, with what this engine has of it.
func (e *Engine) grants(step *manifest.Step) []GrantDocument {
	grants := []GrantDocument{}
	for _, g := range step.Tools {
		doc := GrantDocument{Tool: g.Name}
		if g.Use != g.Name {
			doc.Use = g.Use
		}
		if tool, ok := e.tool(g.Use); ok {
			doc.Effect = tool.Contract().WithDefaults().Effect.String()
		}
		grants = append(grants, doc)
	}
	return grants
}

// limited are the budgets of a run that have a limit.
func (w *Workflow) limited() map[string]int64 {
	b := &w.manifest.Budget
	limits := map[string]int64{
		"attempts": int64(b.Attempts), "calls": int64(b.Calls), "recoveries": int64(b.Recoveries), "work": b.Work,
		"active_ms": b.Active.Milliseconds(),
	}
	maps.DeleteFunc(limits, func(_ string, limit int64) bool { return limit == 0 })
	for unit, limit := range b.Units {
		if _, taken := limits[unit]; taken {
			unit = "units." + unit // none of the names above has a dot
		}
		limits[unit] = limit
	}
	return limits
}

// imports are what modules import, by the modules' digests: a module is read
// for it once. It is safe for concurrent use.
type imports struct {
	mu    sync.Mutex // guards what follows
	known map[string][]string
}

func (i *imports) of(ref journal.ModuleRef, read func(journal.ModuleRef) ([]byte, error)) ([]string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	names, known := i.known[ref.Digest()]
	if known {
		return slices.Clone(names), nil
	}
	text, err := read(ref)
	if err != nil {
		return nil, err
	}
	module, err := wasm.Parse(text, nil)
	if err != nil {
		return nil, err
	}
	names = []string{}
	for _, from := range module.Imports {
		names = append(names, from.Module+"."+from.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names) // a module may import one twice
	if i.known == nil {
		i.known = map[string][]string{}
	}
	i.known[ref.Digest()] = names
	return slices.Clone(names), nil
}
