package telemetry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/telemetry"
)

// childVariable, if set, makes the test binary the program that is killed; it
// is the directory of its store.
const childVariable = "PAWL_TELEMETRY_CHILD"

// told is a span as the program that is killed writes it; the last line that it
// writes has none and names its run.
type told struct {
	Name, Trace, Span, Parent, Link string
	Run                             string
}

func tell(s sdktrace.ReadOnlySpan) told {
	t := told{Name: s.Name(), Trace: s.SpanContext().TraceID().String(), Span: s.SpanContext().SpanID().String()}
	if s.Parent().SpanID().IsValid() {
		t.Parent = s.Parent().SpanID().String()
	}
	for _, l := range s.Links() {
		t.Link = l.SpanContext.TraceID().String() + " " + l.SpanContext.SpanID().String()
	}
	return t
}

// lines writes each span as a line when it ends.
type lines struct{ *json.Encoder }

func (l lines) ExportSpans(_ context.Context, all []sdktrace.ReadOnlySpan) error {
	for _, s := range all {
		if err := l.Encode(tell(s)); err != nil {
			return err
		}
	}
	return nil
}

func (lines) Shutdown(context.Context) error { return nil }

// child starts a run and stands still when its second step is about to send.
func child(dir string) {
	out := json.NewEncoder(os.Stdout)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(lines{out}), sdktrace.WithIDGenerator(telemetry.IDs{}))
	tel, err := telemetry.New(&telemetry.Options{Tracer: provider})
	must(err)
	var r receiver
	tools, err := r.tools()
	must(err)
	store, err := kv.Open(dir, nil)
	must(err)
	engine, err := pawl.Open(context.Background(), store, &pawl.Options{Tools: tools, CacheDir: cacheDir(), Observer: func(e pawl.Event) {
		tel.Observe(e)
		if e.Kind == pawl.Sent && e.Step == "two" {
			must(out.Encode(told{Run: e.Run}))
			select {}
		}
	}})
	must(err)
	w, err := engine.Deploy(context.Background(), os.DirFS(filepath.Join(dir, "..", "workflow")))
	must(err)
	_, err = pawl.Start(context.Background(), w, "killed", json.RawMessage(`{"one":[{"call":"keyed"}],"two":[{"call":"keyed","request":{"n":2}},{"call":"kv.get","request":{"key":"a"}}]}`), nil)
	must(err)
	select {}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A run that is killed and goes on in another process is one trace, and what the
// second process tells of it leads to the first span of the first one.
//
// Seen red with the SDK's own ids, without the link, and with traces of its own for each entry.
func TestKilledRunIsOneTrace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := folder()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range files {
		path := filepath.Join(dir, "workflow", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run, before := kill(t, filepath.Join(dir, "store"))

	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans), sdktrace.WithIDGenerator(telemetry.IDs{}))
	tel, err := telemetry.New(&telemetry.Options{Tracer: provider})
	if err != nil {
		t.Fatal(err)
	}
	var r receiver
	tools, err := r.tools()
	if err != nil {
		t.Fatal(err)
	}
	engine := openEngine(t, filepath.Join(dir, "store"), pawl.Options{Tools: tools, Observer: tel.Observe})
	again, err := engine.Find(run)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := again.Wait(t.Context(), 0); err != nil || c.State != pawl.StateCompleted {
		t.Fatalf("%v, %+v", err, c)
	}
	var after []told
	for _, s := range spans.GetSpans().Snapshots() {
		after = append(after, tell(s))
	}

	names := func(all []told) (names []string) {
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names
	}
	if got, want := names(before), []string{"run", "call books", "step one"}; !slices.Equal(got, want) {
		t.Errorf("the killed process told of %v, want %v", got, want)
	}
	if got, want := names(after), []string{"call books", "call kv.get", "step two"}; !slices.Equal(got, want) {
		t.Errorf("the second process told of %v, want %v", got, want)
	}
	first := before[0]
	if first.Parent != "" || first.Trace != telemetry.TraceID(run).String() {
		t.Errorf("the first span is %+v, not the root of the run's trace %s", first, telemetry.TraceID(run))
	}
	ids := map[string]string{}
	for _, s := range slices.Concat(before, after) {
		if s.Trace != first.Trace {
			t.Errorf("%s is in the trace %s, want %s", s.Name, s.Trace, first.Trace)
		}
		if ids[s.Span] != "" {
			t.Errorf("%s and %s have one id", ids[s.Span], s.Name)
		}
		ids[s.Span] = s.Name
	}
	for _, s := range slices.Concat(before[1:], after) {
		switch {
		case s.Name[:4] == "step" && (s.Parent != "" || s.Link != first.Trace+" "+first.Span):
			t.Errorf("%+v has no link to the run's first span %+v", s, first)
		case s.Name[:4] == "call" && ids[s.Parent][:4] != "step":
			t.Errorf("%+v is below %q, want its step", s, ids[s.Parent])
		}
	}
}

// kill starts the program, and kills it when it stands still. It returns the run
// and the spans that had ended.
func kill(t *testing.T, dir string) (run string, spans []told) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	cmd.Stderr = t.Output()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	for in := bufio.NewScanner(pipe); in.Scan(); {
		var s told
		if err := json.Unmarshal(in.Bytes(), &s); err != nil {
			t.Fatal(fmt.Errorf("%w: %s", err, in.Text()))
		}
		if s.Run != "" {
			return s.Run, spans
		}
		spans = append(spans, s)
	}
	t.Fatal("the program ended by itself")
	return "", nil
}
