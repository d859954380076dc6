package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// log logs lines as the guest of the open attempt.
func (r *Run) log(lines ...string) {
	for _, line := range lines {
		r.Log(0, slog.LevelInfo, line)
	}
}

// page is the key of a page of step one.
func (s *shelf) page(run string, attempt int, end uint32) string {
	return string(logKey(run, logScope{0, attempt, 0}, end))
}

// lines are the durable lines of a run.
func (s *shelf) lines(run string) string {
	s.t.Helper()
	lines, err := s.book.Logs(run)
	if err != nil {
		s.t.Fatal(err)
	}
	var all []string
	for _, l := range lines {
		all = append(all, l.Text)
	}
	return strings.Join(all, " ")
}

func (s *shelf) open(run string) *Run {
	s.t.Helper()
	r, err := s.book.Open(run, nil)
	if err == nil {
		_, err = r.Reenter(s.t.Context())
	}
	if err == nil {
		err = r.EnterLog()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// Lines are durable with the next record, not before it, and are lost with it.
// An owner that was overtaken records none.
//
// Seen red with pages in batches of their own that require nothing.
func TestLinesLandWithARecordOfTheirOwner(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	first := s.begin("run", "r1", Limits{Recoveries: 5})
	first.log("a", "b")
	if got := s.lines("run"); got != "" {
		t.Errorf("before a record: %s", got)
	}
	s.call(first, 0, host.Contract{Effect: host.Keyed}, applied())
	if err := first.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.log("c")
	second := s.open("run")
	if err := first.Stop(t.Context()); !errors.Is(err, kv.ErrRequirement) {
		t.Errorf("a stop of the owner before: %v", err)
	}
	second.log("a", "b", "C", "D") // the first two again
	if err := second.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.lines("run"); got != "a b C D" {
		t.Errorf("logged %s", got)
	}
}

// What an attempt logged is counted for it alone, and what was left out never
// becomes less.
//
// Seen red with an attempt that goes on with the count of the one before, and
// with what was left out counted anew or not read.
func TestEachAttemptCountsItsLines(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{})
	r.log("a", "b", "c")
	if !r.LeaveOut(0, 5, 50) || r.LeaveOut(0, 1, 1) {
		t.Error("the first that is left out is not told, or the second is")
	}
	if err := r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Next: 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.log("A")
	r.LeaveOut(0, 2, 20)
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = s.open("run")
	if r.Log(0, slog.LevelInfo, "A") || !r.Log(0, slog.LevelInfo, "B") {
		t.Error("what is recorded is new, or what is new is recorded")
	}
	if r.LeaveOut(0, 1, 10) {
		t.Error("what was left out before is told again")
	}
	if err := r.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.log("next")
	if err := r.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	left := "the log limit of this attempt is reached: %d more lines of %d bytes are left out"
	if got, want := s.lines("run"), "a b c "+fmt.Sprintf(left, 6, 51)+" A B "+fmt.Sprintf(left, 2, 20)+" next"; got != want {
		t.Errorf("logged %s\nwant   %s", got, want)
	}
	if problems := s.book.Check(); problems != nil {
		t.Error(errors.Join(problems...))
	}
}

// The largest value that a step keeps and all that can be pending of a log are
// one batch; a flood is written on its way.
//
// Seen red without the flush.
func TestPendingLinesFitBesideAnything(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{})
	line := strings.Repeat("x", 16<<10)
	for range 100 {
		r.log(line)
		if r.logs.size >= maxLogPage {
			t.Fatalf("%d bytes pending", r.logs.size)
		}
	}
	with := new(kv.Batch)
	with.Set(make([]byte, 512), make([]byte, 257<<10))
	if _, err := r.write(with, nil, Record{Stop: &Stop{Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.lines("run"); len(got) != 100*(len(line)+1)-1 {
		t.Errorf("%d bytes are there", len(got))
	}
	if s.largest > kv.MaxBatch {
		t.Errorf("a batch of %d bytes", s.largest)
	}
}

// What cannot be read of a log is said, with the lines before it; the run goes
// on all the same.
func TestLogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "r1", Limits{})
	r.log("a")
	s.call(r, 0, host.Contract{Effect: host.Keyed}, applied())
	r.log("b")
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.durable[s.page("run", 1, 2)] = []byte("?")
	lines, err := s.book.Logs("run")
	if !errors.Is(err, ErrUndecodable) || len(lines) != 1 || lines[0].Text != "a" {
		t.Errorf("%v, %v", lines, err)
	}
	r = s.open("run")
	if r.Log(0, slog.LevelInfo, "a") || r.Log(0, slog.LevelInfo, "b") || !r.Log(0, slog.LevelInfo, "c") {
		t.Error("the lines are not counted")
	}
	if _, err := s.book.Logs("nobody"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}
