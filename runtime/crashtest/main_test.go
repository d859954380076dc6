package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/host/toolfile"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/steps/build"
)

// Variables for children: where compiled modules are kept, whether to compile
// one into there and nothing else, and whether to fail at once.
const (
	cacheVariable   = "CRASHTEST_TEST_CACHE"
	compileVariable = "CRASHTEST_TEST_COMPILE"
	brokenVariable  = "CRASHTEST_TEST_BROKEN"
)

// work is where this test binary builds; empty in a child.
var work string

func TestMain(m *testing.M) {
	var err error
	switch dir, module := os.Getenv(crashtest.ChildVariable), os.Getenv(compileVariable); {
	case dir != "":
		err = child(dir)
	case module != "":
		err = compile(module)
	default:
		os.Exit(parent(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func parent(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "crashtest-test-"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(work)
	if err := os.Setenv(cacheVariable, cacheDir()); err != nil {
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

func cacheDir() string { return filepath.Join(work, "cache") }

// child is this program started again for one process of a row.
func child(dir string) error {
	if os.Getenv(brokenVariable) != "" {
		return errors.New("nothing works here")
	}
	tools, err := toolfile.Load(filepath.Join(dir, toolfile.Name), map[string]toolfile.Kind{"http": httptool.Kind})
	if errors.Is(err, fs.ErrNotExist) {
		tools, err = host.NewRegistry(inProcess(), counting())
	}
	if err != nil {
		return err
	}
	return crashtest.Child(context.Background(), &crashtest.ChildConfig{Tools: tools, CacheDir: os.Getenv(cacheVariable)})
}

// inProcess is a tool that dies with its process.
func inProcess() host.Tool {
	return host.Func("tickets.claim", func(context.Context, *host.Call, map[string]string) (map[string]string, error) {
		return map[string]string{}, nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}})
}

// counting is a tool that keeps what it counts in its process, which no journal
// knows and no kill leaves.
func counting() host.Tool {
	var n atomic.Int64
	return host.Func("read", func(context.Context, *host.Call, map[string]string) (int64, error) {
		return n.Add(1), nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Read}})
}

// quick is this program without the race detector, in which a row costs a
// quarter and a compilation a thirtieth.
var quick = sync.OnceValues(func() (string, error) {
	if !slow {
		return os.Executable()
	}
	out := filepath.Join(work, "quick.test")
	text, err := exec.Command("go", "test", "-c", "-o", out, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return out, nil
})

// compileInChild compiles a module once, for all children.
func compileInChild(module string) error {
	program, err := quick()
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), compileVariable+"="+module)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

func compile(module string) error {
	wasm, err := os.ReadFile(module)
	if err == nil {
		_, err = pawl.Describe(context.Background(), wasm, os.Getenv(cacheVariable))
	}
	return err
}

// childOf is a child of that program.
func childOf(program, dir string, more ...string) *exec.Cmd {
	cmd := exec.Command(program)
	cmd.Env = append(append(os.Environ(), crashtest.ChildVariable+"="+dir), more...)
	return cmd
}

const example = "../../examples/refund"

// refund is the folder of the refund workflow, with its module built.
var refund = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(work, "refund")
	module := filepath.Join(dir, "refund.wasm")
	if err := os.CopyFS(filepath.Join(dir, "schema"), os.DirFS(filepath.Join(example, "schema"))); err != nil {
		return "", err
	}
	if _, err := build.Module(context.Background(), &build.Options{Dir: example, Out: module}); err != nil {
		return "", err
	}
	if err := compileInChild(module); err != nil {
		return "", err
	}
	return dir, copyFile(filepath.Join(example, "workflow.toml"), filepath.Join(dir, "workflow.toml"))
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
	const old = "127.0.0.1:7730"
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s has no %s", toolfile.Name, old)
	}
	return os.WriteFile(filepath.Join(dir, toolfile.Name), []byte(strings.ReplaceAll(string(text), old, addr)), 0o644)
}

// long leaves a test out of short runs: it cuts or kills at every one of many
// places, or loads large modules, and takes minutes beside the race detector.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}
