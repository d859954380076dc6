package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/steps/build"
)

// cacheVariable tells children where compiled modules are kept.
const cacheVariable = "CRASHTEST_TEST_CACHE"

// work is where this test binary builds; empty in a child.
var work string

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashtest.ChildVariable); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(parent(m))
}

func parent(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "crashtest-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(work)
	if err := os.Setenv(cacheVariable, filepath.Join(work, "cache")); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// child is this program started again for one process of a row.
func child(dir string) error {
	tools, err := toolfile.Load(filepath.Join(dir, toolfile.Name), map[string]toolfile.Kind{"http": httptool.Kind})
	if err != nil {
		return err
	}
	return crashtest.Child(context.Background(), &crashtest.ChildConfig{Tools: tools, CacheDir: os.Getenv(cacheVariable)})
}

const example = "../../examples/refund"

// refund is the folder of the refund workflow, with its module built.
var refund = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(work, "refund")
	if err := os.CopyFS(filepath.Join(dir, "schema"), os.DirFS(filepath.Join(example, "schema"))); err != nil {
		return "", err
	}
	_, err := build.Module(context.Background(), &build.Options{Dir: example, Out: filepath.Join(dir, "refund.wasm")})
	return dir, errors.Join(err, copyFile(filepath.Join(example, "workflow.toml"), filepath.Join(dir, "workflow.toml")))
})

// services is the program with the refund example's receivers.
var services = sync.OnceValues(func() (string, error) {
	out := filepath.Join(work, "services")
	text, err := exec.Command("go", "build", "-o", out, example+"/services").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}

// pointTools writes the example's tools file into dir, with the tools pointing
// to addr.
func pointTools(dir, addr string) error {
	text, err := os.ReadFile(filepath.Join(example, toolfile.Name))
	if err != nil {
		return err
	}
	const there = "127.0.0.1:7730"
	if !strings.Contains(string(text), there) {
		return fmt.Errorf("%s does not point to %s", toolfile.Name, there)
	}
	return os.WriteFile(filepath.Join(dir, toolfile.Name), []byte(strings.ReplaceAll(string(text), there, addr)), 0o644)
}
