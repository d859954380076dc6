package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pawl-dev/pawl/runtime/internal/manifest"
)

// Folder is a workflow as it lies in a folder, before it is deployed.
type Folder struct {
	Name, Version string
	// Modules maps the modules that the steps name to the Go packages they are
	// built from, relative to the folder.
	Modules map[string]string

	files    fs.FS
	manifest *manifest.Workflow
}

// ReadFolder reads and checks workflow.toml and the schemas it names; the
// modules need not be built yet. Its errors name file, line and column.
func ReadFolder(folder fs.FS) (*Folder, error) {
	m, err := manifest.Load(folder)
	if err != nil {
		return nil, err
	}
	f := &Folder{Name: m.Name, Version: m.Version, Modules: map[string]string{}, files: folder, manifest: m}
	for name, module := range m.Modules {
		f.Modules[name] = module.Go
	}
	return f, nil
}

// Tools are the operator's tools that the steps may call, each with the names,
// sorted, by which the steps call it.
func (f *Folder) Tools() map[string][]string {
	tools := map[string][]string{}
	for _, step := range f.manifest.Steps {
		for _, grant := range step.Tools {
			if !slices.Contains(tools[grant.Use], grant.Name) {
				tools[grant.Use] = append(tools[grant.Use], grant.Name)
				slices.Sort(tools[grant.Use])
			}
		}
	}
	return tools
}

// Digest is the digest under which the folder would be deployed. It needs the
// built modules.
func (f *Folder) Digest() (string, error) {
	_, digests, err := f.modules()
	if err != nil {
		return "", err
	}
	return f.manifest.Digest(digests), nil
}

// modules reads the built modules.
func (f *Folder) modules() (wasm map[string][]byte, digests map[string]string, err error) {
	wasm, digests = map[string][]byte{}, map[string]string{}
	for name := range f.Modules {
		data, err := fs.ReadFile(f.files, name)
		if err != nil {
			return nil, nil, fmt.Errorf("module %s: %w; build it first (pawl build)", name, err)
		}
		sum := sha256.Sum256(data)
		wasm[name], digests[name] = data, "sha256:"+hex.EncodeToString(sum[:])
	}
	return wasm, digests, nil
}
