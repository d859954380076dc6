package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

// BenchmarkReplay is the replay of a step of 10,000 recorded raw calls, from
// reading its run to the guest's end. guest-ms is the guest's own time: the same
// module, with calls that are answered at once.
func BenchmarkReplay(b *testing.B) {
	const calls = 10_000
	engine, done := benchEngine(b, &pawl.Options{}, host.Func("read", func(context.Context, *host.Call, []byte) ([]byte, error) {
		return []byte("ok"), nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Read}}))
	defer done()
	w, err := engine.Deploy(b.Context(), rawFolder("read", calls))
	if err != nil {
		b.Fatal(err)
	}
	r, err := pawl.Start(b.Context(), w, "", raw(`{}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	if c, err := r.Wait(b.Context(), 0); err != nil || c.State != pawl.StateCompleted || len(c.Steps[0].Calls) != calls {
		b.Fatalf("%v, %+v", err, c)
	}
	guest := guestAlone(b, rawGuest("read", calls), calls)
	for b.Loop() {
		if _, err := engine.Recount(b.Context(), r.ID()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms")
	b.ReportMetric(float64(guest.Microseconds())/1000, "guest-ms")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(guest), "x-of-guest")
}

// guestAlone is the mean time of a guest whose calls are answered at once.
func guestAlone(b *testing.B, wasm []byte, calls int) time.Duration {
	b.Helper()
	box, err := sandbox.New(&sandbox.Options{CacheDir: cacheDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer box.Close(context.Background())
	m, err := box.Module(b.Context(), digest(wasm), func() ([]byte, error) { return wasm, nil })
	if err != nil {
		b.Fatal(err)
	}
	made := 0
	reply := &sandbox.Reply{Head: abi.ResultHead{Type: abi.TypeBytes}, Body: []byte("ok")}
	e := &sandbox.Entry{
		Step: "one", Input: []byte("{}"), Random: func(int) (key [32]byte) { return key },
		Call: func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { made++; return reply, nil },
	}
	const rounds = 10
	var begun time.Time
	for i := range rounds + 1 {
		if i == 1 { // the first one compiles
			begun = time.Now()
		}
		if _, err := m.Enter(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	if made != (rounds+1)*calls {
		b.Fatalf("%d calls", made)
	}
	return time.Since(begun) / rounds
}

// BenchmarkFirstCall is what a program that was killed needs to go on: from the
// start of a fresh process, with the compilation cache, until the first new call
// of its run arrives at the receiver, behind the one that the kill had left
// open. x-of-process is that time over the start and end of a process that does
// nothing.
func BenchmarkFirstCall(b *testing.B) {
	const calls = 50
	arrived := make(chan time.Time)
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		arrived <- time.Now()
		<-gone // answered by the one who waits
	}))
	defer server.Close()
	k := firstCallTask(b, server.URL)
	var took, bare time.Duration
	for n := 0; b.Loop(); n++ {
		if n%(calls-1) == 0 { // the run before has no call left
			k.ID = fmt.Sprint("r", n)
			startCalls(b, k, calls, arrived, gone)
		}
		begun := time.Now()
		p := spawn(b, k)
		<-arrived
		gone <- struct{}{}
		took += (<-arrived).Sub(begun)
		p.kill()
		gone <- struct{}{}
		begun = time.Now()
		spawn(b, task{}).end() // without a tools.toml it ends at once
		bare += time.Since(begun)
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1000, "ms")
	b.ReportMetric(float64(bare.Microseconds())/float64(b.N)/1000, "process-ms")
	b.ReportMetric(float64(took)/float64(bare), "x-of-process")
	b.ReportMetric(0, "ns/op")
}

// firstCallTask makes a store's and a workflow's place, and the task of going on there.
func firstCallTask(b *testing.B, url string) task {
	b.Helper()
	dir := b.TempDir()
	k := task{Store: filepath.Join(dir, "store"), Tools: filepath.Join(dir, "tools.toml"), Folder: filepath.Join(dir, "workflow"), Op: "resume"}
	files := map[string][]byte{"tools.toml": fmt.Appendf(nil, "pawl = 1\n[tool.keyed]\nkind = \"http\"\neffect = \"keyed\"\nmethod = \"POST\"\nurl = %q\nallow = [\"private\"]\ntimeout = \"1h\"\n", url)}
	for name, f := range folder(b, "", `tools = ["keyed"]`) {
		files[filepath.Join("workflow", name)] = f.Data
	}
	for name, data := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return k
}

// startCalls starts the task's run, of so many calls, in a process that is
// killed in the first one.
func startCalls(b *testing.B, k task, calls int, arrived chan time.Time, gone chan struct{}) {
	b.Helper()
	k.Op = "start"
	k.Input = json.RawMessage(`{"one":[` + strings.TrimSuffix(strings.Repeat(`{"call":"keyed"},`, calls), ",") + `]}`)
	p := spawn(b, k)
	<-arrived
	p.kill()
	gone <- struct{}{}
}
