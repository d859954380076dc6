package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/steps/build"
)

type buildCommand struct {
	Dir string `arg:"" optional:"" complete:"dir" default:"." help:"Folder of the workflow."`
}

// builtModule is a module that lies in the folder now.
type builtModule struct {
	Module string `json:"module"`
	// Package is what it was built from; empty for one that came built.
	Package string `json:"package,omitempty"`
	Path    string `json:"path"`
	Digest  string `json:"digest,omitempty"`
}

// Run is the command.
func (c *buildCommand) Run(ctx context.Context, g *Globals) error {
	modules, err := buildModules(ctx, g, c.Dir, c.Dir)
	if err != nil {
		return err
	}
	for _, m := range modules {
		switch {
		case g.JSON:
			if err := g.printJSON(m); err != nil {
				return err
			}
		case m.Package == "":
			fmt.Fprintf(g.stdout, "%s  as it is: the folder has no Go sources for it\n", m.Path)
		default:
			fmt.Fprintf(g.stdout, "%s  %s\n", m.Path, m.Digest)
		}
	}
	return nil
}

// slowBuild is how long a build of what was built before may take in silence.
const slowBuild = 2 * time.Second

// buildModules builds the modules of the workflow in dir into the folder out.
// A module without Go sources must lie in dir already and stays as it is; so
// does a built one on a machine without Go.
func buildModules(ctx context.Context, g *Globals, dir, out string) ([]builtModule, error) {
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	folder, err := readFolder(root)
	if err != nil {
		return nil, err
	}
	var modules []builtModule
	for _, name := range slices.Sorted(maps.Keys(folder.Modules)) {
		m := builtModule{Module: name, Package: folder.Modules[name], Path: filepath.Join(out, name)}
		if !hasSources(dir, m.Package) {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return nil, &problem{
					Code: "no_module", Message: fmt.Sprintf("module %s: there is no such file in %s, and no Go sources to build it from", name, dir),
					Hint: "put the built .wasm file there, or name its Go package in workflow.toml: [module.\"" + name + "\"] go = \"./steps\"", Status: statusUsage,
				}
			}
			m.Package = ""
		} else if err := m.build(ctx, g, dir); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// openFolder opens a workflow's folder. Nothing outside it is read through what
// it returns, wherever links in it lead: the files become part of the run, and
// the folder may be somebody else's.
func openFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err == nil {
		return root, nil
	}
	return nil, &problem{
		Code: "no_such_folder", Message: fmt.Sprintf("there is no folder %s that can be read: %v", dir, err),
		Hint: "give the folder that has the workflow.toml", Status: statusUsage,
	}
}

// readFolder reads a workflow's folder, which must stay open for as long as the
// result is used.
func readFolder(root *os.Root) (*pawl.Folder, error) {
	folder, err := pawl.ReadFolder(root.FS())
	if errors.Is(err, fs.ErrNotExist) || err != nil && !exists(filepath.Join(root.Name(), "workflow.toml")) {
		return nil, &problem{
			Code: "no_workflow", Message: fmt.Sprintf("the folder %s has no workflow.toml", root.Name()),
			Hint: "give the folder that has one, such as pawl run examples/refund", Status: statusUsage,
		}
	}
	return folder, invalidFolder(err)
}

// invalidFolder is what is wrong with a workflow's folder.
func invalidFolder(err error) error {
	return otherwise(err, "invalid_workflow", "mend the workflow, then repeat the command; a link in its folder may not lead out of it", statusUsage)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// hasSources reports whether go build would find something. What is no path
// below dir is left for it to find.
func hasSources(dir, pkg string) bool {
	if !strings.HasPrefix(pkg, ".") {
		return true
	}
	files, err := filepath.Glob(filepath.Join(globbed(filepath.Join(dir, pkg)), "*.go"))
	return err == nil && len(files) > 0
}

func (m *builtModule) build(ctx context.Context, g *Globals, dir string) (err error) {
	built := exists(m.Path)
	from := m.Package
	if strings.HasPrefix(from, ".") {
		from = filepath.Join(dir, from)
	}
	s := &stages{g: g}
	if built {
		s.silent = slowBuild // it may be up to date
	}
	m.Digest, err = s.build(ctx, from, g.cacheDir(), &build.Options{Dir: dir, Package: m.Package, Out: m.Path})
	if built && errors.Is(err, build.ErrNoGo) {
		g.notice("no_go", "There is no go command: %s is used as it is.", m.Path)
		m.Package = ""
		return nil
	}
	return otherwise(err, "build_failed", "mend the sources of "+m.Module+", then repeat the command", statusUsage)
}

// build builds a module and compiles it, and tells of both. from is where its
// sources are as people are told of it.
func (s *stages) build(ctx context.Context, from, cacheDir string, o *build.Options) (digest string, err error) {
	defer s.end()
	name := filepath.Base(o.Out)
	s.next("Building " + name + " from " + from)
	o.Describe = func(ctx context.Context, wasm []byte) ([]byte, error) {
		s.next("Compiling " + name + " for this machine")
		return pawl.Describe(ctx, wasm, cacheDir)
	}
	return build.Module(ctx, o)
}
