package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/runtime/internal/sandbox"
)

func TestGuestIsGivenTheResultOfItsCall(t *testing.T) {
	t.Parallel()
	b := newBench("echo", `{"order":"W1"}`)
	b.Call = func(_ context.Context, r *sandbox.Request) (*sandbox.Reply, error) {
		if r.Tool != "echo" || r.Head.Type != abi.TypeJSON || string(r.Body) != `{"order":"W1"}` {
			t.Errorf("request %q %+v %s", r.Tool, r.Head, r.Body)
		}
		return &sandbox.Reply{Status: abi.Rejected, Head: abi.ResultHead{Code: "no"}, Body: []byte(`"answer"`)}, nil
	}
	exit, err := goGuest(t).Enter(t.Context(), &b.Entry)
	if err != nil {
		t.Fatal(err)
	}
	if string(exit.Output) != `"answer"` || exit.Failure != nil {
		t.Errorf("exit %s %+v", exit.Output, exit.Failure)
	}
}

func TestFailurePutIsHandedOn(t *testing.T) {
	t.Parallel()
	exit, err := goGuest(t).Enter(t.Context(), &newBench("unheard", `null`).Entry)
	if err != nil {
		t.Fatal(err)
	}
	if exit.Failure == nil || exit.Failure.Code != "no_such_step" || exit.Output != nil {
		t.Errorf("exit %s %+v", exit.Output, exit.Failure)
	}
}

func TestGuestHasNoFilesEnvironmentOrArguments(t *testing.T) {
	t.Parallel()
	exit, err := goGuest(t).Enter(t.Context(), &newBench("environment", `null`).Entry)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Args, Env []string
		File      string
	}
	if err := json.Unmarshal(exit.Output, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Args) != 0 || len(got.Env) != 0 || got.File == "<nil>" {
		t.Errorf("the guest sees %+v", got)
	}
}

func TestLogsAreLines(t *testing.T) {
	t.Parallel()
	b := newBench("lines", `null`)
	if _, err := goGuest(t).Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
	want := []string{"INFO one", "WARN two", "DEBUG three", "DEBUG four", "ERROR five [31mred", "INFO six, unfinished"}
	if diff := cmp.Diff(want, b.lines); diff != "" {
		t.Error(diff)
	}
}

// A guest that is ended from outside is entered again, and goes on with its line.
//
// Seen red with the line given out always, and never.
func TestUnfinishedLineOfAGuestThatIsEnded(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		err  error
		want int // lines
	}{"by itself": {nil, 1}, "from outside": {errStopped, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench("half", `null`)
			if row.err != nil {
				b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return nil, row.err }
			}
			if _, err := goGuest(t).Enter(t.Context(), &b.Entry); !errors.Is(err, row.err) || len(b.lines) != row.want {
				t.Errorf("%v, logged %q", err, b.lines)
			}
		})
	}
}

// Seen red without the limit, and with lines left out that nobody is told of.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench("flood", `null`)
	if _, err := goGuest(t).Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
	var size int
	for _, line := range b.lines {
		size += len(line)
		if len(line) > sandbox.MaxLogLine+len("INFO ") {
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
	if size > sandbox.MaxLogBytes || size < sandbox.MaxLogBytes-2*sandbox.MaxLogLine {
		t.Errorf("%d bytes logged", size)
	}
	if left := 400 - len(b.lines); b.lost != [2]int{left, left * (sandbox.MaxLogLine + 1)} {
		t.Errorf("%d lines of 400 logged, %d left out", len(b.lines), b.lost)
	}
}

// A guest of 32 MiB that allocates 70 MiB in small pieces needs its collector.
// Seen red with clocks that move ten milliseconds per reading.
func TestMillionSmallAllocationsSurvive(t *testing.T) {
	t.Parallel()
	b := newBench("allocate", `null`)
	b.MemoryPages = 512
	if _, err := goGuest(t).Enter(t.Context(), &b.Entry); err != nil {
		t.Fatal(err)
	}
}

func TestGoGuestMisdeeds(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	for step, want := range map[string]struct{ code, text string }{
		"panic": {sandbox.TrapPanic, "panic: the ticket has no owner"},
		"nil":   {sandbox.TrapPanic, "nil pointer dereference"},
		"exit":  {sandbox.TrapExit, "status 7 within a step\ngiving up"},
		"leave": {sandbox.TrapExit, "status 0"},
		"hog":   {sandbox.TrapOutOfMemory, "out of memory"},
		"deep":  {sandbox.TrapOutOfMemory, "runtime.newstack"},
		"stuck": {sandbox.TrapPanic, "deadlock"},
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			exit, err := m.Enter(t.Context(), &newBench(step, `null`).Entry)
			var trap *sandbox.Trap
			if !errors.As(err, &trap) {
				t.Fatalf("%+v, %v", exit, err)
			}
			if trap.Code != want.code || !strings.Contains(trap.Message, want.text) {
				t.Errorf("code %s, want %s; message:\n%s", trap.Code, want.code, trap.Message)
			}
			if len(trap.Message) > 8<<10 {
				t.Errorf("message of %d bytes", len(trap.Message))
			}
		})
	}
}

func TestMemoryLimitIsEachEntrysOwn(t *testing.T) {
	t.Parallel()
	m := goGuest(t)
	for _, pages := range []uint32{256, 512, 0} {
		b := newBench("hog", `null`)
		b.MemoryPages = pages
		_, err := m.Enter(t.Context(), &b.Entry)
		if trap := new(sandbox.Trap); !errors.As(err, &trap) || trap.Code != sandbox.TrapOutOfMemory {
			t.Errorf("%d pages: %v", pages, err)
		}
	}
	b := newBench("plain", `null`)
	b.MemoryPages = 1
	_, err := m.Enter(t.Context(), &b.Entry)
	if refused := new(sandbox.ModuleError); !errors.As(err, &refused) || refused.Code != sandbox.ModuleMemory {
		t.Errorf("1 page: %v", err)
	}
}

// Seen red without the jump at a call, and with a jump back.
func TestClock(t *testing.T) {
	t.Parallel()
	b := newBench("clock", `null`)
	at := start.Add(90 * time.Minute)
	b.Call = func(context.Context, *sandbox.Request) (*sandbox.Reply, error) { return &sandbox.Reply{At: at}, nil }
	type reading struct {
		First, Second, After      time.Time
		SleptWall, SleptMonotonic time.Duration
	}
	read := func() (r reading) {
		exit, err := goGuest(t).Enter(t.Context(), &b.Entry)
		if err != nil {
			t.Fatal(err)
		}
		var raw struct {
			First, Second, After time.Time
			SleptWall            time.Duration `json:"slept_wall"`
			SleptMonotonic       time.Duration `json:"slept_monotonic"`
		}
		if err := json.Unmarshal(exit.Output, &raw); err != nil {
			t.Fatal(err)
		}
		return reading(raw)
	}
	r := read()
	if r.First.Before(start) || r.First.After(start.Add(time.Millisecond)) {
		t.Errorf("begins at %s, not %s", r.First, start)
	}
	if got := r.Second.Sub(r.First); got != time.Microsecond {
		t.Errorf("a reading moves the clock by %s", got)
	}
	if r.After.Before(at) || r.After.After(at.Add(time.Millisecond)) {
		t.Errorf("after the call it is %s, not %s", r.After, at)
	}
	for clock, slept := range map[string]time.Duration{"wall": r.SleptWall, "monotonic": r.SleptMonotonic} {
		if slept < time.Hour-time.Millisecond || slept > time.Hour+time.Second {
			t.Errorf("an hour is %s by the %s clock", slept, clock)
		}
	}

	at = start.Add(-time.Hour)
	if r := read(); r.After.Before(r.Second) {
		t.Errorf("the clock went back from %s to %s", r.Second, r.After)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	d, err := goGuest(t).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Description{
		ABI: 1, SDK: "hand/1",
		Steps: []abi.StepDescription{{Name: "echo"}}, Tools: []abi.ToolDescription{{Name: "echo"}},
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
}
