package runtime

import (
	"context"
	"fmt"
	"io/fs"
	"sort"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/journal"
	"github.com/pawl-dev/pawl/runtime/internal/manifest"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// Workflow is a deployed workflow. It is immutable and safe for concurrent
// use.
type Workflow struct {
	engine   *Engine
	manifest *manifest.Workflow
	deployed *journal.Deployed
	digest   string
}

// Name is the workflow's name.
func (w *Workflow) Name() string { return w.manifest.Name }

// Version is the workflow's version, as its author wrote it.
func (w *Workflow) Version() string { return w.manifest.Version }

// Digest is the address of the workflow's content: "sha256:" and hex.
func (w *Workflow) Digest() string { return w.digest }

// Deploy checks the workflow in folder (workflow.toml, the schemas it names and
// its built modules) and stores it under its digest, whole or not at all. The
// same content again is a no-op. Its errors name file, line and column.
func (e *Engine) Deploy(ctx context.Context, folder fs.FS) (*Workflow, error) {
	if err := e.writes(); err != nil {
		return nil, err
	}
	f, err := ReadFolder(folder)
	if err != nil {
		return nil, err
	}
	modules, digests, err := f.modules()
	if err != nil {
		return nil, err
	}
	m := f.manifest
	if err := e.checkModules(ctx, m, modules, digests); err != nil {
		return nil, err
	}
	digest := m.Digest(digests)
	deployed, err := e.book.Deploy(ctx, digest, m.Name, m.Version, m.Files, modules)
	if err != nil {
		return nil, err
	}
	e.verdicts.forget()
	e.opts.Logger.Info("workflow deployed", keyWorkflow, m.Name, keyVersion, m.Version, keyDigest, digest)
	return e.remember(&Workflow{engine: e, manifest: m, deployed: deployed, digest: digest}), nil
}

// checkModules compiles the modules and compares what they say of themselves
// with what the manifest wants of them.
func (e *Engine) checkModules(ctx context.Context, m *manifest.Workflow, modules map[string][]byte, digests map[string]string) error {
	loaded, described := map[string]*sandbox.Module{}, map[string]*abi.Description{}
	for name, wasm := range modules {
		module, err := e.sandbox.Module(ctx, digests[name], func() ([]byte, error) { return wasm, nil })
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		loaded[name] = module
		if described[name], err = module.Describe(ctx); err != nil {
			return fmt.Errorf("module %s: describe: %w", name, err)
		}
	}
	for _, step := range m.Steps {
		if err := checkStep(&step, loaded[step.Module], described[step.Module]); err != nil {
			return err
		}
	}
	return nil
}

// checkStep compares a step with the module that it names.
func checkStep(step *manifest.Step, module *sandbox.Module, d *abi.Description) error {
	if limit, least := step.Limits.MemoryPages, module.MinMemoryPages(); limit > 0 && limit < least {
		return fmt.Errorf("workflow.toml: step %q: limits.memory is %d KiB, and module %s starts with %d KiB; raise the limit",
			step.Name, limit*64, step.Module, least*64)
	}
	if module.Command() && len(step.Tools) > 0 {
		return fmt.Errorf("workflow.toml: step %q: module %s is a WASI command, which cannot call tools; leave tools out, or export pawl_step (in Go: package steps)",
			step.Name, step.Module)
	}
	if d == nil {
		return nil // a module need not describe itself
	}
	var names []string
	for _, s := range d.Steps {
		if s.Name == step.Name {
			return nil
		}
		names = append(names, s.Name)
	}
	return fmt.Errorf("workflow.toml: step %q is not in module %s, which has %q; name it as the module does (steps.Handle)",
		step.Name, step.Module, names)
}

// Workflow returns the workflow that was deployed last under name.
func (e *Engine) Workflow(name string) (*Workflow, error) {
	digest, err := e.book.Named(name)
	if err != nil {
		return nil, err
	}
	return e.workflow(digest)
}

// workflow returns a deployed workflow by its digest.
func (e *Engine) workflow(digest string) (*Workflow, error) {
	e.mu.Lock()
	w := e.workflows[digest]
	e.mu.Unlock()
	if w != nil {
		return w, nil
	}
	deployed, err := e.book.Deployed(digest)
	if err != nil {
		return nil, err
	}
	stored, err := e.book.Files(digest, deployed)
	if err != nil {
		return nil, err
	}
	m, err := manifest.Load(files(stored))
	if err != nil {
		return nil, fmt.Errorf("stored workflow %s: %w", digest, err)
	}
	return e.remember(&Workflow{engine: e, manifest: m, deployed: deployed, digest: digest}), nil
}

func (e *Engine) remember(w *Workflow) *Workflow {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.workflows[w.digest]; known != nil {
		return known
	}
	e.workflows[w.digest] = w
	return w
}

// module returns one of the workflow's modules, compiled once per process.
func (w *Workflow) module(ctx context.Context, name string) (*sandbox.Module, error) {
	ref := w.deployed.Modules[name]
	return w.engine.sandbox.Module(ctx, ref.Digest(), func() ([]byte, error) { return w.engine.book.Module(ref) })
}

// toolIDs are the operator's ids of the tools that the steps may call, sorted.
func (w *Workflow) toolIDs() []string {
	set := map[string]bool{}
	for _, step := range w.manifest.Steps {
		for _, g := range step.Tools {
			set[g.Use] = true
		}
	}
	ids := make([]string, 0, len(set))
	for id := range set {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}

// files is a folder in memory.
type files map[string][]byte

// ReadFile implements [fs.ReadFileFS].
func (f files) ReadFile(name string) ([]byte, error) {
	if data, ok := f[name]; ok {
		return data, nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Open implements [fs.FS]; only ReadFile is ever used.
func (f files) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
