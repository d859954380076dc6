package journal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/kv"
)

// What lists need of an open run is kept with it, by the batch that changes it:
// a list reads no run, and an engine that opens finds who needs a person.
//
// Seen red with a listing that is only written at the start, with ended runs
// that stay in memory, and with an end that keeps no listing.
func TestListingFollowsTheRun(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	r := s.begin("run", "id", Limits{})
	stored := func() (l Listing) {
		t.Helper()
		if err := decode(s.durable["o/run"], &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	expect := func(what string, phase Phase, code string) {
		t.Helper()
		inMemory, _ := s.book.Listing("run")
		if l := stored(); l.Phase != phase || l.Code != code || l != inMemory || l.ExternalID != "id" || l.Workflow != "test" {
			t.Errorf("%s: %+v, in memory %+v", what, l, inMemory)
		}
	}
	expect("begun", PhaseOpen, "")
	commits := s.commits
	if err := r.Park(t.Context(), &Park{Attempt: 1, Call: -1, Code: ParkUnknown}); err != nil {
		t.Fatal(err)
	}
	expect("parked", PhaseDecision, ParkUnknown)
	if s.commits != commits+1 {
		t.Errorf("%d commits for a park", s.commits-commits)
	}
	next := time.Now().Add(time.Hour)
	if _, err := r.Reenter(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect("re-entered", PhaseOpen, "")
	if err := r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Next: next.UnixMicro()}); err != nil {
		t.Fatal(err)
	}
	expect("waiting", PhaseWaiting, "")
	if l := stored(); l.Due != next.UnixMicro() {
		t.Errorf("due %d, want %d", l.Due, next.UnixMicro())
	}
	if problems := s.book.Check(); problems != nil {
		t.Error(problems)
	}
	again := &Book{store: s.memory}
	if ids, err := again.ReadOpen(); err != nil || !slices.Equal(ids, []string{"run"}) {
		t.Errorf("%q, %v", ids, err)
	}
	if l, _ := again.Listing("run"); l != stored() {
		t.Errorf("read anew: %+v", l)
	}
	ended := s.begin("ended", "id2", Limits{})
	for range 2 {
		if err := ended.Complete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	var listed []Listing
	if err := s.book.EachEnded("", func(e *EndedRun) bool {
		l, read, err := e.Listing()
		if err != nil || read || e.Run != "ended" {
			t.Errorf("%s, read %v, %v", e.Run, read, err)
		}
		listed = append(listed, l)
		return true
	}); err != nil || len(listed) != 1 || listed[0].Phase != PhaseCompleted || listed[0].ExternalID != "id2" || listed[0].Since == 0 {
		t.Errorf("%+v, %v", listed, err)
	}
	if n, err := s.book.CountEnded(); err != nil || n != 1 {
		t.Errorf("%d ended, %v", n, err)
	}
	var open []string
	if err := s.book.EachOpen(func(run string, _ *Listing) { open = append(open, run) }); err != nil || !slices.Equal(open, []string{"run"}) {
		t.Errorf("%q, %v", open, err)
	}
}

// A listing is small whatever the run is called.
//
// Seen red with titles that are not cut.
func TestListingIsSmall(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	long := strings.Repeat("ä", 200) // what a title is cut to
	start := &Start{
		Run: strings.Repeat("r", 26), ExternalID: strings.Repeat("x", 128), Workflow: strings.Repeat("w", 64),
		Digest: digest, Root: "root", Steps: []string{"one"}, Title: long + long,
	}
	if _, _, err := s.book.Begin(t.Context(), start, nil, [32]byte{}, nil); err != nil {
		t.Fatal(err)
	}
	size := len(s.durable["o/"+start.Run])
	t.Logf("%d bytes on the disk", size)
	if size > 600 {
		t.Errorf("%d bytes", size)
	}
}

// Runs are found by their labels, the newest first, ended ones too, page by
// page; a value is not the beginning of another.
//
// Seen red with a prefix that does not end with the value, and with a page that
// repeats its last run.
func TestRunsByLabel(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for i, value := range []string{"a", "b", "a", "ab", "a"} {
		start := &Start{
			Run: fmt.Sprintf("01R%d", i), ExternalID: fmt.Sprintf("id%d", i), Workflow: "test", Digest: digest, Root: "r",
			Steps: []string{"one", "two"}, Labels: map[string]string{"order": value, "other": "a"},
		}
		r, _, err := s.book.Begin(t.Context(), start, nil, [32]byte{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			for range 2 {
				if err := r.Complete(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, row := range []struct {
		label, value, before string
		limit                int
		want                 []string
	}{
		{"order", "a", "", 9, []string{"01R4", "01R2", "01R0"}},
		{"order", "a", "", 2, []string{"01R4", "01R2"}},
		{"order", "a", "01R2", 2, []string{"01R0"}},
		{"order", "ab", "", 9, []string{"01R3"}},
		{"order", "c", "", 9, nil},
		{"orde", "a", "", 9, nil},
		{"other", "a", "", 9, []string{"01R4", "01R3", "01R2", "01R1", "01R0"}},
	} {
		if runs, err := s.book.Labelled(row.label, row.value, row.before, row.limit); err != nil || !slices.Equal(runs, row.want) {
			t.Errorf("%+v: %q, %v", row, runs, err)
		}
	}
	if problems := s.book.Check(); problems != nil {
		t.Error(problems)
	}
}

// The largest of everything fits into a batch, whatever a guest, a receiver or
// a tool says; a start that does not is refused before anything is stored.
//
// Seen red with a receipt's message that is not cut, a detail that is kept, and
// a start that is not measured.
func TestLargestOfEverythingFits(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	huge := strings.Repeat("x", 2<<20)
	start := &Start{Run: "big", ExternalID: "big", Workflow: "test", Digest: digest, Root: "big", Steps: []string{"one"}, Title: huge}
	if _, _, err := s.book.Begin(t.Context(), start, nil, [32]byte{}, nil); err == nil || len(s.durable["x/big"]) > 0 {
		t.Errorf("a start of %d bytes: %v", len(huge), err)
	}
	labels := map[string]string{}
	for i := range 1000 {
		labels[fmt.Sprint(i)] = strings.Repeat("l", 800)
	}
	start = &Start{Run: "big", ExternalID: "big", Workflow: "test", Digest: digest, Root: "big", Steps: []string{"one"}, Labels: labels}
	if _, _, err := s.book.Begin(t.Context(), start, nil, [32]byte{}, nil); err == nil {
		t.Error("a start with a thousand labels")
	}
	s.largest = 0
	r := s.begin("run", "id", Limits{})
	call := &host.Call{Tool: "tool", Attempt: 1, Try: 1, Body: []byte(huge)}
	l := r.Ledger(0, "tool", call, host.Contract{Effect: host.Keyed}, 0)
	if _, err := l.Intend(t.Context(), host.Intent{Call: call}); err != nil {
		t.Fatal(err)
	}
	call.Try = 2
	if _, err := l.Retry(t.Context(), host.Retry{Call: call, Last: host.Answer{Code: huge, Message: huge}}); err != nil {
		t.Fatal(err)
	}
	err := l.Settle(t.Context(), host.Receipt{
		Outcome: host.OutcomeApplied, Code: huge, Message: huge, Response: host.Response{Body: []byte(huge)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refuse(0, 1, 1, "tool", "tool", host.Hash{}, 1, huge, huge); err != nil {
		t.Fatal(err)
	}
	if err := r.Park(t.Context(), &Park{Attempt: 1, Call: -1, Code: huge, Sentence: huge, Help: huge}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reenter(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Fail(t.Context(), &Fail{Attempt: 1, Call: -1, Code: huge, Message: huge, Detail: []byte(`"` + huge + `"`), Next: 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Complete(t.Context(), []byte(huge)); err != nil {
		t.Fatal(err)
	}
	if s.largest > kv.MaxBatch/2 {
		t.Errorf("a batch of %d bytes", s.largest)
	}
	if problems := s.book.Check(); problems != nil {
		t.Error(problems)
	}
}

// An engine that ends without a word is noticed by the next one, once; one that
// closed in good order, or is still there, is not. Stops are forgotten after an
// hour.
//
// Seen red with a record that stays after a stop in good order, with engines
// that are alive counted, and with stops that are kept.
func TestUncleanStops(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	now := time.Now()
	alive := map[string]bool{}
	begin := func(engine string, at time.Time, want int) {
		t.Helper()
		stops, err := s.book.Begun(engine, func(id string) bool { return alive[id] }, at)
		if err != nil || len(stops) != want {
			t.Errorf("%s: %v, %v, want %d", engine, stops, err, want)
		}
		if err := s.Commit(new(kv.Batch)).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	begin("a", now, 0)
	if err := s.book.Ended(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	begin("b", now, 0)
	begin("c", now.Add(time.Minute), 1) // b
	begin("c", now.Add(time.Minute), 1) // again, after its store was opened anew
	alive["c"] = true
	begin("d", now.Add(2*time.Minute), 1)
	alive["c"] = false
	begin("e", now.Add(61*time.Minute+time.Second), 2) // c and d, and b is forgotten
	s.durable["u"] = []byte("?")
	begin("f", now.Add(62*time.Minute), 1) // e: a record that cannot be read stops nobody
}
