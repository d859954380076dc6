package sandbox_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
	"github.com/pawl-dev/pawl/runtime/internal/wasmtest"
)

// entropy runs the step that does everything an ordinary program is unequal by.
func entropy(ctx context.Context, m *sandbox.Module, secret string) ([]string, error) {
	b := newBench("entropy", `{}`)
	b.Random = keys(secret)
	exit, err := m.Enter(ctx, &b.Entry)
	if err != nil {
		return nil, err
	}
	return append(b.requests, string(exit.Output)), nil
}

// deeds are what another process did: what was requested, and the work at each
// call and at the end.
type deeds struct {
	Requests []string
	Work     []int64
}

// child is what a process does that a test began: it runs the step on the
// file named by the environment and prints what was done.
func child() {
	file, cache, _ := strings.Cut(os.Getenv(childVariable), "\n")
	if err := func() error {
		wasm, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s, err := sandbox.New(&sandbox.Options{CacheDir: cache})
		if err != nil {
			return err
		}
		defer s.Close(context.Background())
		m, err := s.Module(context.Background(), digest(wasm), func() ([]byte, error) { return wasm, nil })
		if err != nil {
			return err
		}
		var did deeds
		if did.Requests, err = entropy(context.Background(), m, "run 1"); err != nil {
			return err
		}
		if did.Work, err = newMetered("entropy", `{}`).counts(context.Background(), m); err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(did)
	}(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inChild returns what another process did.
func inChild(t *testing.T, cache string) (did deeds) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+guestFile+"\n"+cache)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &did); err != nil {
		t.Fatal(err)
	}
	return did
}

// Seen red with the system's wall clock, with its monotonic clock, and with
// random numbers that are not of the entry's keys.
func TestSameStepMakesIdenticalRequests(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	want, err := entropy(t.Context(), m, "run 1")
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != 6 {
		t.Fatalf("requests %q", want)
	}
	for i := range 20 {
		t.Run(fmt.Sprint("instance ", i), func(t *testing.T) {
			t.Parallel()
			got, err := entropy(t.Context(), m, "run 1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("another process", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(want, inChild(t, cacheDir).Requests); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOtherKeysMakeOtherRequests(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	type numbers struct {
		Early, Math, V2 int64
		Crypto          []byte
	}
	of := func(secret string) (n numbers) {
		requests, err := entropy(t.Context(), m, secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(requests[0][strings.Index(requests[0], "} ")+2:]), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	a, b := of("run 1"), of("run 2")
	if a.Early == b.Early || a.Math == b.Math || a.V2 == b.V2 || bytes.Equal(a.Crypto, b.Crypto) {
		t.Errorf("two runs draw equal numbers: %+v, %+v", a, b)
	}
}

// Seen red with a stream that goes on over calls.
func TestOneMoreReadingDoesNotShiftWhatFollowsTheNextCall(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	draws := func(before string) []string {
		b := newBench("draws", before)
		if _, err := m.Enter(t.Context(), &b.Entry); err != nil {
			t.Fatal(err)
		}
		return b.requests
	}
	a, b := draws("8"), draws("80")
	if a[0] == b[0] || a[1] != b[1] {
		t.Errorf("requests %q and %q", a, b)
	}
}

func TestRandomKeysAreAskedByCompletedCalls(t *testing.T) {
	t.Parallel()
	b := newBench("draws", "8")
	var asked []int
	b.Random = func(index int) [32]byte { asked = append(asked, index); return keys("run 1")(index) }
	if _, err := goGuest(t).Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []int{-1, 0, 1}) {
		t.Errorf("asked for the keys %v", asked)
	}
}

// What a guest draws may only change together with the number of the semantics.
func TestRandomBytesNeverChangeSilently(t *testing.T) {
	t.Parallel()
	frame := "\x10\x00\x00\x00" + `{"type":"bytes"}`
	const frameAt = 600
	draw := wasmtest.Const(uint32(frameAt+len(frame))) + wasmtest.Const(16) + wasmtest.CallTo(wasmtest.FnFirst) + wasmtest.OpDrop +
		wasmtest.HostCall(wasmtest.ToolAt, uint32(len(wasmtest.ToolText)), frameAt, uint32(len(frame)+16))
	p := wasmtest.Guest(draw + draw + wasmtest.Done)
	p.Imports = append(p.Imports, wasmtest.Function{Module: "wasi_snapshot_preview1", Export: "random_get", Shape: wasmtest.ShapeTake})
	p.Data += frame
	b := newBench("s", `null`)
	var got []string
	b.Call = func(_ context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		got = append(got, hex.EncodeToString(r.Body))
		return &sandbox.Reply{}, nil
	}
	if _, err := load(t, open(t, nil), p.Bytes()).Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
	want := []string{"3769c2bdd6e76fc13bb839f7ac676bb6", "57ab1f91e074152638e4c720e0f52d9f"}
	if sandbox.Semantics != 1 || !slices.Equal(got, want) {
		t.Errorf("semantics %d: %q, want %q", sandbox.Semantics, got, want)
	}
}
