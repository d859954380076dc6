package sandbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"go.uber.org/goleak"
)

// childVariable holds, in a process that a test began, the file of the guest
// and the cache directory that it works with.
const childVariable = "SANDBOX_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		panic(err)
	}
	guestFile = filepath.Join(dir, "guest.wasm")
	cacheDir = filepath.Join(dir, "cache")
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

var (
	guestFile, cacheDir string

	// guest builds the guest of testdata once.
	guest = sync.OnceValues(func() ([]byte, error) {
		build := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-o", guestFile, "./testdata/guest")
		build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		return os.ReadFile(guestFile)
	})
)

func digest(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func open(t testing.TB, opts *sandbox.Options) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func load(t testing.TB, s *sandbox.Sandbox, wasm []byte) *sandbox.Module {
	t.Helper()
	m, err := s.Module(t.Context(), digest(wasm), func() ([]byte, error) { return wasm, nil })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// goGuest is the guest of testdata in a sandbox of its own; the compiled code
// is shared by all tests through the disk.
func goGuest(t testing.TB) *sandbox.Module {
	t.Helper()
	wasm, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	return load(t, open(t, &sandbox.Options{CacheDir: cacheDir}), wasm)
}

var start = time.Date(2026, 11, 29, 3, 10, 58, 420_000_000, time.UTC)

// bench is an entry with what it recorded.
type bench struct {
	sandbox.Entry
	requests []string // tool, head, body
	lines    []string // level, line
	lost     [2]int   // lines and bytes left out of the log
}

// newBench returns an entry whose calls are answered with their own bodies, one
// second apart.
func newBench(step, input string) *bench {
	b := &bench{Entry: sandbox.Entry{Step: step, Input: []byte(input), Start: start, Random: keys("run 1")}}
	b.Call = func(_ context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		b.requests = append(b.requests, fmt.Sprintf("%s %+v %s", r.Tool, r.Head, r.Body))
		at := start.Add(time.Duration(len(b.requests)) * time.Second)
		return &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeJSON}, Body: r.Body, At: at}, nil
	}
	b.LeftOut = func(lines, bytes int) { b.lost[0] += lines; b.lost[1] += bytes }
	b.Log = func(level slog.Level, line string) { b.lines = append(b.lines, level.String()+" "+line) }
	return b
}

// keys derives a key for each index.
func keys(secret string) func(int) [32]byte {
	return func(index int) [32]byte { return sha256.Sum256(fmt.Appendf(nil, "%s/%d", secret, index)) }
}

// long leaves a test out of short runs: it cuts or kills at every one of many
// places, or loads large modules, and takes minutes beside the race detector.
func long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}
