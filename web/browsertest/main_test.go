package browsertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/steps/build"
)

// Environment of the tests.
const (
	// mustVariable, set to 1, makes a missing Chromium a failure: without it the
	// tests skip by name. Set to 0, it makes them skip wherever they are.
	mustVariable = "PAWL_BROWSER"
	// artefactsVariable is where the screenshots are kept.
	artefactsVariable = "PAWL_ARTEFACTS"
)

func TestMain(m *testing.M) {
	status := m.Run()
	browser.close()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// programs are what the tests run, built once into a folder: pawl, the services
// of the refund example, the example embed, and the workflows refund and hostile.
type programs struct {
	once sync.Once
	dir  string
	err  error
}

var built programs

// in returns a path in the folder.
func (b *programs) in(t *testing.T, path ...string) string {
	t.Helper()
	if b.once.Do(b.build); b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(append([]string{b.dir}, path...)...)
}

func (b *programs) build() {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err == nil {
		b.dir, err = os.MkdirTemp("", "pawl-browser-")
	}
	w := &builder{root: root, dir: b.dir, err: err}
	w.depends()
	w.do("go", "build", "-o", b.dir+string(filepath.Separator), "./cmd/pawl", "./examples/refund/services", "./examples/embed")
	w.workflow("refund", filepath.Join(root, "examples", "refund"))
	w.workflow("hostile", filepath.Join(root, "web", "browsertest", "testdata", "hostile"))
	b.err = w.err
}

// builder keeps the first error.
type builder struct {
	root, dir string
	err       error
}

// depends looks at all sources, so that go takes a change of any of them for one
// of these tests: what a test builds is not seen by the cache of their results.
func (b *builder) depends() {
	for _, dir := range []string{"cmd", "examples", "host", "kv", "runtime", "steps", "telemetry", "web"} {
		err := filepath.WalkDir(filepath.Join(b.root, dir), func(_ string, _ fs.DirEntry, err error) error { return err })
		b.err = errors.Join(b.err, err)
	}
}

func (b *builder) do(name string, args ...string) {
	if b.err != nil {
		return
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		b.err = fmt.Errorf("%s %v: %w\n%s", name, args, err, out)
	}
}

// workflow builds a workflow beside its source and moves what is shipped: the
// files without the source, and the module.
func (b *builder) workflow(name, source string) {
	to := filepath.Join(b.dir, "workflows", name)
	for _, part := range []string{"workflow.toml", "tools.toml", "schema"} {
		if from := filepath.Join(source, part); b.err == nil && exists(from) {
			b.err = os.MkdirAll(to, 0o700)
			if b.err == nil && filepath.Ext(part) == "" {
				b.err = os.CopyFS(filepath.Join(to, part), os.DirFS(from))
			} else if b.err == nil {
				b.err = copyFile(from, filepath.Join(to, part))
			}
		}
	}
	if b.err == nil {
		_, b.err = build.Module(context.Background(), &build.Options{Dir: source, Out: filepath.Join(to, name+".wasm")})
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// replace changes a file; what is replaced must be there.
func replace(t *testing.T, file string, pairs ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !bytes.Contains(text, []byte(pairs[i])) {
			t.Fatalf("%s has no %q", file, pairs[i])
		}
		text = bytes.ReplaceAll(text, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
