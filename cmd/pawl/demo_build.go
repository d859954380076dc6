package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pawl-dev/pawl/steps/build"

	goruntime "runtime"
)

const modulePath = "github.com/pawl-dev/pawl"

// demoSources are what the demo is built from.
var demoSources = [...]string{"go.mod", "examples/refund", "host/abi", "steps"}

// findSource walks up from the working directory to Pawl's own source.
func findSource() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if moduleOf(filepath.Join(at, "go.mod")) == modulePath {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", &problem{
				Code: "no_source", Message: fmt.Sprintf("%s is not inside Pawl's source, from which the demo builds its example", dir),
				Hint: "clone the repository, then: cd pawl && go run ./cmd/pawl demo", Status: statusUsage,
			}
		}
	}
}

// moduleOf is the module path of a go.mod; empty if there is none.
func moduleOf(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if path, ok := strings.CutPrefix(lines.Text(), "module "); ok {
			return strings.TrimSpace(path)
		}
	}
	return ""
}

// demoFiles are what the demo works with, all outside the source.
type demoFiles struct {
	dir      string // the workflow with its module
	ticket   string
	services string // the program
	tools    string // the text of the tools file
	cache    string // of compiled modules
	temp     string // to be removed; empty if all is in the user's cache
}

func (d *demoFiles) close() error {
	if d.temp == "" {
		return nil
	}
	return os.RemoveAll(d.temp)
}

// buildDemo builds the example, or finds it as it was built from the same
// sources before.
func buildDemo(ctx context.Context, g *Globals, root string) (d *demoFiles, err error) {
	d = new(demoFiles)
	if d.cache, err = demoCache(g); err != nil {
		if d.temp, err = os.MkdirTemp("", "pawl-demo-cache-"); err != nil {
			return nil, err
		}
		d.cache = d.temp
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	digest, err := digestOf(root)
	if err != nil {
		return nil, err
	}
	d.dir = filepath.Join(d.cache, "demo", digest)
	d.services, d.ticket = filepath.Join(d.dir, "services"), filepath.Join(d.dir, "tickets", "t1.json")
	if !exists(d.dir) {
		if err := d.build(ctx, g, root); err != nil {
			return nil, err
		}
	}
	tools, err := os.ReadFile(filepath.Join(d.dir, "tools.toml"))
	if err != nil {
		return nil, err
	}
	d.tools = string(tools)
	return d, nil
}

// demoCache is the directory that all demos share.
func demoCache(g *Globals) (dir string, err error) {
	if dir = g.cacheDir(); dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			return "", err
		}
		dir = filepath.Join(dir, "pawl")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(filepath.Join(dir, "demo"), 0o755)
}

// digestOf is the digest of the sources.
func digestOf(root string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
	for _, source := range demoSources {
		err := filepath.WalkDir(filepath.Join(root, source), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() || filepath.Ext(name) == ".wasm" {
				return err
			}
			text, err := os.ReadFile(name)
			if err == nil {
				fmt.Fprintf(sum, "%d %s %d ", len(name)-len(root), name[len(root):], len(text))
				_, err = sum.Write(text)
			}
			return err
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// build puts the whole example into place in one step: another demo may be
// doing the same.
func (d *demoFiles) build(ctx context.Context, g *Globals, root string) error {
	g.notice("building", "Building Pawl's steps, first time only")
	temp, err := os.MkdirTemp(filepath.Dir(d.dir), ".build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp) // of no effect once renamed
	example := filepath.Join(root, "examples", "refund")
	for _, part := range []string{"schema", "tickets"} {
		if err := os.CopyFS(filepath.Join(temp, part), os.DirFS(filepath.Join(example, part))); err != nil {
			return err
		}
	}
	for _, file := range []string{"workflow.toml", "tools.toml"} {
		if err := copyFile(filepath.Join(example, file), filepath.Join(temp, file)); err != nil {
			return err
		}
	}
	s := &stages{g: g}
	defer s.end()
	out := &build.Options{Dir: example, Out: filepath.Join(temp, "refund.wasm")}
	if _, err := s.build(ctx, "examples/refund", d.cache, out); err != nil {
		return err
	}
	s.next("Building the services that it calls")
	if err := buildServices(ctx, example, filepath.Join(temp, "services")); err != nil {
		return err
	}
	if err := os.Rename(temp, d.dir); err != nil && !exists(d.dir) {
		return err
	}
	return nil
}

func buildServices(ctx context.Context, example, out string) error {
	const pkg = "./services"
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", out, pkg)
	cmd.Dir = example
	printed, err := cmd.CombinedOutput()
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return build.ErrNoGo
	case err != nil:
		return &build.CompileError{Dir: example, Package: pkg, Output: strings.TrimSpace(string(printed)), Err: err}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
