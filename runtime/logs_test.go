package runtime_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// logs are the lines of a run as people read them, without the times.
func (b *bundle) logs(ref string) (lines []string) {
	b.t.Helper()
	kept, err := b.find(ref).Logs()
	if err != nil {
		b.t.Fatal(err)
	}
	last := map[string]int{}
	for _, l := range kept {
		place := fmt.Sprint(l.Step, l.Attempt)
		if l.N != last[place] || l.At.IsZero() {
			b.t.Errorf("%+v, behind %d lines of %s", l, last[place], place)
		}
		last[place]++
		lines = append(lines, fmt.Sprintf("%s %d %d %s %s", l.Step, l.Attempt, l.Call, l.Level, l.Text))
	}
	return lines
}

// listen collects the log lines that are announced from now on.
func (b *bundle) listen() func() []string {
	var mu sync.Mutex
	var lines []string
	b.opts.Observer = func(e pawl.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind == pawl.Logged {
			lines = append(lines, e.Message)
		}
	}
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, lines...)
	}
}

// texts are what is left of lines that [bundle.logs] gave without their places.
func texts(lines []string) []string {
	out := []string{}
	for _, line := range lines {
		out = append(out, strings.SplitN(line, " ", 5)[4])
	}
	return out
}

// A run whose power is cut at each of its boundaries, and behind each of its
// log lines, has logged in the end what it logs without cuts. What had been
// recorded before the cut is not announced again, and all else is.
//
// Seen red with lines that are recorded again, with a store that is not asked
// how many it has, and with the count of another attempt.
func TestLogsAreTheSameAfterACrashAnywhere(t *testing.T) {
	long(t)
	t.Parallel()
	want := []string{
		"one 1 0 INFO begun", "one 1 1 INFO two", "one 1 1 INFO lines", "one 1 2 INFO half ",
		"one 2 0 INFO begun", "one 2 1 INFO two", "one 2 1 INFO lines", "one 2 2 INFO half of it",
		"two 1 0 INFO last",
	}
	const lanes = 5 // each cuts at every fifth place: most of the time is the disk's
	for lane := range lanes {
		t.Run(fmt.Sprint("lane=", lane), func(t *testing.T) {
			t.Parallel()
			n, reached := lane, true
			for ; reached; n += lanes {
				t.Run(fmt.Sprint("cut=", n), func(t *testing.T) { reached = cutAndCompare(t, n, want) })
			}
			if n < 30 {
				t.Errorf("only %d places", n)
			}
		})
	}
}

// cutAndCompare cuts the power at the n-th event, if there is one, and compares
// the logs with those of a run without cuts.
func cutAndCompare(t *testing.T, n int, want []string) (reached bool) {
	b, reached := loggedAndCut(t, n)
	recorded := b.logs("r1")
	announced := b.listen()
	b.reopen()
	completed(t, b.resume("r1"))
	if diff := cmp.Diff(want, b.logs("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(texts(want), append(texts(recorded), announced()...)); reached && diff != "" {
		t.Errorf("recorded before and announced after it: %s", diff)
	}
	return reached
}

// loggedAndCut is a run whose power was cut at its n-th event; 0 cuts nothing.
// The engine that is open does not go on with it.
func loggedAndCut(t *testing.T, n int) (b *bundle, reached bool) {
	t.Helper()
	var keyed, flaky counter
	b = setup(t, keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		flaky.tool("flaky", host.Contract{Effect: host.Read, Tries: 1}, func(_ int64, c *host.Call) (any, error) {
			if c.Attempt == 1 {
				return nil, host.NotApplied(errors.New("down"))
			}
			return "up", nil
		}))
	b.deploy(folder(t, "", "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 2, backoff = \"1ms\" }", ""))
	var mu sync.Mutex
	seen := 0
	b.crashAt(func(e pawl.Event) bool {
		mu.Lock()
		defer mu.Unlock()
		if e.Kind != pawl.Started {
			seen++
		}
		return seen == n
	})
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", `{"one":[{"log":"begun"},{"call":"keyed"},{"log":"two\nlines"},{"write":"half "},
		{"call":"flaky"},{"write":"of it\n"}],"two":[{"log":"last"}]}`)
	_, _ = r.Wait(t.Context(), time.Hour) // cut or not
	b.crashAt(nil)
	b.opts.NoRecovery = true
	b.reopen()
	return b, seen >= n
}

// A flood is bounded: an attempt keeps so much of it, one line says what was
// left out, and a crash behind it changes neither.
//
// Seen red with a count of what was left out that is not recorded, and with all
// lines in one batch (too large).
func TestFloodOfLogs(t *testing.T) {
	t.Parallel()
	const lines, kept = 10_000, 1 << 20 / (100 + 64)
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.deploy(folder(t, "", `tools = ["keyed"]`))
	// What the flood is followed by is not durable when the power is cut.
	b.crashAt(func(e pawl.Event) bool { return e.Kind == pawl.BeforeIntent && e.Call == 1 })
	b.reopen()
	w, err := b.engine.Workflow("test")
	if err != nil {
		t.Fatal(err)
	}
	r := b.start(w, "r1", fmt.Sprintf(`{"one":[{"lines":%d},{"call":"keyed"},{"log":"too late"},{"call":"keyed"}]}`, lines))
	b.crashed(r)
	b.crashAt(nil)
	b.opts.NoRecovery = true
	announced := b.listen()
	b.reopen()
	check := func(left, bytes int) {
		t.Helper()
		got := b.logs("r1")
		if len(got) != kept+1 {
			t.Fatalf("%d lines", len(got))
		}
		for i, line := range got[:kept] {
			if line != fmt.Sprintf("one 1 0 INFO %0100d", i) {
				t.Fatalf("line %d: %s", i, line)
			}
		}
		if want := fmt.Sprintf("WARN the log limit of this attempt is reached: %d more lines of %d bytes are left out", left, bytes); !strings.HasSuffix(got[kept], want) {
			t.Errorf("%s, want %s", got[kept], want)
		}
	}
	// A put is one text: the end of its one line is not in it.
	check(lines-kept, (lines-kept)*100+1)
	completed(t, b.resume("r1"))
	check(lines-kept+1, (lines-kept)*100+1+len("too late"))
	if got := announced(); len(got) != 0 {
		t.Errorf("announced again: %.300q", got)
	}
	for key, value := range keysOf(t, b.store) {
		if strings.HasPrefix(key, "r/"+r.ID()+"/l") && len(value) > 40<<10 {
			t.Errorf("%d bytes under one key", len(value))
		}
	}
}

// A call that leaves its memory has the attempt entered again: its lines are
// there once, and were announced once.
//
// Seen red with lines that are recorded again, and with half a line taken for
// one when the call leaves.
func TestLogsOfACallThatWaits(t *testing.T) {
	t.Parallel()
	slow := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed, Tries: 3}}
	slow.f = func(n int64, _ *host.Call) host.Answer {
		if n == 1 {
			return later(time.Hour)
		}
		return fine
	}
	b := setup(t, slow)
	announced := b.listen()
	b.reopen()
	w := b.deploy(folder(t, "", `tools = ["keyed"]`))
	r := b.start(w, "r1", `{"one":[{"log":"before"},{"write":"half "},{"call":"keyed"},{"log":"behind"}]}`)
	b.waits(r, "retry_after")
	if got := b.logs("r1"); len(got) != 1 {
		t.Errorf("while it waits: %q", got)
	}
	completed(t, b.resume("r1"))
	want := []string{"before", "behind", "half "}
	if diff := cmp.Diff(want, texts(b.logs("r1"))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, announced()); diff != "" {
		t.Error(diff)
	}
}

// Other code in the attempt that was under way logs what it likes; all of it is
// kept behind what the code before logged.
//
// Seen red with lines of the new code that are taken for those of the old.
func TestLogsOfMendedCode(t *testing.T) {
	t.Parallel()
	_, _, tools := keyedAndRead()
	b := setup(t, tools...)
	b.close()
	b.crashAt(func(e pawl.Event) bool { return e.Kind == pawl.Sent && e.Step == "one" })
	b.open()
	r := b.start(b.deploy(version(t)), "r1", `{"one":[{"log":"old"},{"log":"code"},{"call":"keyed"}],"two":[],"mended":[{"log":"new"},{"call":"keyed"}]}`)
	b.crashed(r)
	b.crashAt(nil)
	b.opts.NoRecovery = true
	b.reopen()
	if err := b.find("r1").Upgrade(t.Context(), b.deploy(version(t, "input.one", "input.mended"))); err != nil {
		t.Fatal(err)
	}
	completed(t, b.resume("r1"))
	if diff := cmp.Diff([]string{"one 1 0 INFO old", "one 1 0 INFO code", "one 1 0 INFO new"}, b.logs("r1")); diff != "" {
		t.Error(diff)
	}
}

// A run that logs nothing costs what it cost before there were logs, and one
// that does has no batch more.
//
// Seen red with an entry for each line, with a batch for each page, and with the
// store asked at each entry.
func TestLogsAddNoBatches(t *testing.T) {
	t.Parallel()
	const program = `{"one":[%[1]s{"call":"keyed"},%[1]s{"call":"read"}],"two":[{"call":"keyed"}%[2]s]}`
	for name, row := range map[string]struct {
		input string
		want  spending
	}{
		"nothing logged": {fmt.Sprintf(program, "", ""), spending{}},
		"lines":          {fmt.Sprintf(program, `{"log":"x"},{"log":"y"},`, `,{"log":"z"}`), spending{changes: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row.want.batches += 10
			row.want.changes += 24
			row.want.views += 5
			_, _, tools := keyedAndRead()
			b := setup(t, tools...)
			b.deploy(folder(t, "", `tools = ["keyed", "read"]`, `tools = ["keyed"]`))
			var meter *metered
			b.wrap = func(s kv.Store) kv.Store {
				meter = &metered{Store: s}
				return meter
			}
			b.opts.Share(nil) // a first run also reads its module
			b.reopen()
			w, err := b.engine.Workflow("test")
			if err != nil {
				t.Fatal(err)
			}
			before := meter.total()
			completed(t, b.rest(b.start(w, "r1", row.input)))
			after := meter.total()
			if got := (spending{after.batches - before.batches, after.changes - before.changes, after.views - before.views}); got != row.want {
				t.Errorf("%+v, want %+v", got, row.want)
			}
			lines, err := b.find("r1").Logs()
			if err != nil || lines == nil || (name == "lines") != (len(lines) == 5) {
				t.Errorf("%v, %v", lines, err)
			}
		})
	}
}

// spending is what a store was asked for.
type spending struct{ batches, changes, views int }

// metered is a store that counts.
type metered struct {
	kv.Store
	mu    sync.Mutex // guards spent
	spent spending
}

func (m *metered) Commit(b *kv.Batch) kv.Pending {
	m.mu.Lock()
	m.spent.batches++
	m.spent.changes += len(b.Changes)
	m.mu.Unlock()
	return m.Store.Commit(b)
}

func (m *metered) View(f func(kv.View) error) error {
	m.mu.Lock()
	m.spent.views++
	m.mu.Unlock()
	return m.Store.View(f)
}

func (m *metered) total() spending {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}
