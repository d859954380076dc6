package journal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/kv"
)

// A run is found by its id, its external id, or the beginning or end of one of
// them that is long enough and fits no other.
//
// Seen red with each of the ways left out, with an ambiguous, a short name
// taken, with an external id that comes after the search, and with parts of a
// name that a program is given a run for.
func TestFind(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for run, external := range map[string]string{
		"01AAAAAAAAAAWXYZ": "refund-T1",
		"01AAAAAAAABBBBBB": "refund-T2",
		"01BBBBBBBBCCCCCC": "charge-T1.late",
		"01CCCCCCCCDDDDDD": "refund-T2-again",
		"01DDDDDDDDEEEEEE": "eeee",
		"01EEEEEEEEFFFFFF": "01DDDDDDDDEEEEEE-again",
	} {
		s.begin(run, external, Limits{})
	}
	for ref, want := range map[string]string{
		"01AAAAAAAAAAWXYZ": "01AAAAAAAAAAWXYZ", // its id
		"refund-T1":        "01AAAAAAAAAAWXYZ", // its external id
		"refund-T2":        "01AAAAAAAABBBBBB", // which is the beginning of another
		"01BB":             "01BBBBBBBBCCCCCC", // the beginning of its id
		"WXYZ":             "01AAAAAAAAAAWXYZ", // the end of its id
		"charge":           "01BBBBBBBBCCCCCC", // the beginning of its external id
		"late":             "01BBBBBBBBCCCCCC", // the end of its external id
		"eeee":             "01DDDDDDDDEEEEEE",
		"EEEE":             "01DDDDDDDDEEEEEE",
		"01DDDDDDDDEEEEEE": "01DDDDDDDDEEEEEE", // which is the beginning of another's external id
		"01AA":             "fits 2 runs",
		"refund-":          "fits 3 runs",
		"01B":              "too short",
		"AAAA":             "not found", // in the middle
		"nobody":           "not found",
		"":                 "not found",
		"/":                "not found",
	} {
		switch run, err := s.book.Lookup(ref); {
		case strings.HasPrefix(want, "01"):
			if run != want || err != nil {
				t.Errorf("%q finds %s, %v, want %s", ref, run, err, want)
			}
		case !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v, want %s", ref, err, want)
		}
	}
	// A program that knows the name is not given another run.
	for ref, want := range map[string]string{
		"01AAAAAAAAAAWXYZ": "01AAAAAAAAAAWXYZ", "refund-T1": "01AAAAAAAAAAWXYZ", "01BB": "", "WXYZ": "", "charge": "", "late": "", "": "",
	} {
		if run, err := s.book.Find(ref); run != want || (want == "") != errors.Is(err, ErrNotFound) {
			t.Errorf("%q is %q, %v, want %q", ref, run, err, want)
		}
	}
	s.durable["x/refund-T1"] = []byte("?")
	for _, ref := range []string{"refund-T1", "01BB"} {
		if _, err := s.book.Lookup(ref); !errors.Is(err, ErrUndecodable) || !strings.Contains(err.Error(), "x/refund-T1") {
			t.Errorf("%q with an external id that cannot be read: %v", ref, err)
		}
	}
}

// Runs come newest first, open ones by their age.
//
// Seen red with a sequence that ends early, with payloads taken for a run, and
// with an open run that is not listed.
func TestRunsInOrder(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for run := range s.book.Runs() {
		t.Errorf("a run in an empty store: %s", run)
	}
	ids := []string{"01A", "01AB", "01B", "01C"}
	for _, run := range ids {
		r := s.begin(run, run, Limits{})
		if run == "01B" {
			if err := errors.Join(r.Complete(t.Context(), nil), r.Complete(t.Context(), nil)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A start that was cut off before its last batch.
	if _, err := kv.NewChain(s, runPrefix("01BZ")).Put(large('z')); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.flush()
	s.mu.Unlock()
	var got []string
	for run, err := range s.book.Runs() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, run)
	}
	slices.Reverse(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("all runs: %q, want %q", got, ids)
	}
	if open, err := s.book.ReadOpen(); err != nil || !slices.Equal(open, []string{"01A", "01AB", "01C"}) {
		t.Errorf("open runs: %q, %v", open, err)
	}
}

// A start is one of the runs that are there, or one more, or none: its external
// id decides, and the first to be written wins.
//
// Seen red without the requirement of the id's absence, and with the input and
// with the workflow passed over.
func TestBeginIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.begin("first", "id", Limits{})
	again := func(workflow string, hash byte) (*Run, string, error) {
		start := &Start{Run: "second", ExternalID: "id", Workflow: workflow, Digest: digest, Steps: []string{"one"}}
		return s.book.Begin(t.Context(), start, large('i'), [32]byte{hash}, nil)
	}
	if r, run, err := again("test", 1); r != nil || run != "first" || err != nil {
		t.Errorf("the same start: %v, %q, %v", r, run, err)
	}
	if _, _, err := again("test", 2); !errors.Is(err, ErrInputConflict) {
		t.Errorf("another input: %v", err)
	}
	if _, _, err := again("other", 1); !errors.Is(err, ErrInputConflict) {
		t.Errorf("another workflow: %v", err)
	}
	// Somebody is faster, after this start has looked.
	behind := &slow{memory: s.memory, hidden: "x/id"}
	book := &Book{store: behind}
	start := &Start{Run: "second", ExternalID: "id", Workflow: "test", Digest: digest, Steps: []string{"one"}}
	if r, run, err := book.Begin(t.Context(), start, large('i'), [32]byte{1}, nil); r != nil || run != "first" || err != nil {
		t.Errorf("a start that lost: %v, %q, %v", r, run, err)
	}
	if problems := s.book.Check(); problems != nil {
		t.Error(errors.Join(problems...))
	}
	for run := range s.book.Runs() {
		if run != "first" {
			t.Errorf("run %s is there", run)
		}
	}
}

// slow hides a key from the first look.
type slow struct {
	*memory
	hidden string
}

func (s *slow) View(f func(kv.View) error) error {
	return s.memory.View(func(v kv.View) error {
		delete(v.(memoryView), s.hidden)
		s.hidden = ""
		return f(v)
	})
}

// An entry is understood whole, or its run stops and its key is named.
//
// Seen red with the format passed over, with unknown fields and doubled keys
// allowed, with a start of another run, and with no start.
func TestEntriesThatAreNotUnderstood(t *testing.T) {
	t.Parallel()
	valid := encode(entry{Format: Format, At: 1, Records: []Record{{Start: &Start{Run: "run", Steps: []string{"one"}}}}})
	for name, row := range map[string]struct {
		entry []byte
		want  string
	}{
		"no entry":               {[]byte("hello"), "e"},
		"nothing":                {nil, "EOF"},
		"another format":         {encode(entry{Format: Format + 1}), "record format 2; this program knows format 1"},
		"no format":              {encode(map[int]int{2: 0}), "record format 0"},
		"a field nobody knows":   {encode(map[int]int{1: Format, 2: 0, 99: 1}), "unknown field"},
		"a key that comes twice": {[]byte{0xa3, 1, 1, 2, 0, 2, 0}, "duplicate"},
		"bytes behind its end":   {append(valid[:len(valid):len(valid)], 0), "extraneous"},
		"another run's start":    {encode(entry{Format: Format, Records: []Record{{Start: &Start{Run: "other", Steps: []string{"one"}}}}}), "no start record of this run"},
		"no record":              {encode(entry{Format: Format}), "no start record of this run"},
		"a record before it":     {encode(entry{Format: Format, Records: []Record{{Stop: &Stop{}}}}), "before the run's start"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			if err := kv.NewChain(s, runPrefix("run")).Append(row.entry, nil).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := s.book.Open("run", nil)
			if !errors.Is(err, ErrUndecodable) || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "run run: undecodable record at \"r/run/") {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
	s := newShelf(t)
	if err := kv.NewChain(s, runPrefix("run")).Append(valid, nil).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.book.Open("run", nil); err != nil {
		t.Errorf("the entry as it should be: %v", err)
	}
}

// What was deployed stays, and its name means what was deployed last.
//
// Seen red with a name that stays with what was new last.
func TestNameMeansWhatWasDeployedLast(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	const newer = "sha256:1badcafe"
	deploy := func(digest string) {
		t.Helper()
		if _, err := s.book.Deploy(t.Context(), digest, "test", "1", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{newer, digest} {
		deploy(want)
		if got, err := s.book.Named("test"); err != nil || got != want {
			t.Errorf("named %s, %v, want %s", got, err, want)
		}
	}
	d, err := s.book.Deployed(digest)
	if err != nil || len(d.Files) != 1 || len(d.Modules) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, err := range []error{second(s.book.Named("nobody")), second(s.book.Deployed("sha256:nobody"))} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("a workflow that is not there: %v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A store has one identity, whoever opens it first.
func TestIdentityIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	late := &slow{memory: s.memory, hidden: "i"} // it finds none, and loses
	for _, store := range []kv.Store{s, late} {
		book, err := OpenBook(t.Context(), store)
		if err != nil {
			t.Fatal(err)
		}
		if book.ID() != s.book.ID() || len(book.ID()) != 32 || string(book.Secret()) != string(s.book.Secret()) {
			t.Errorf("another identity: %s, then %s", s.book.ID(), book.ID())
		}
	}
	if other := newShelf(t); other.book.ID() == s.book.ID() || string(other.book.Secret()) == string(s.book.Secret()) {
		t.Error("two stores have one identity")
	}
	s.durable["i"] = encode(identity{Format: Format + 1})
	if _, err := OpenBook(t.Context(), s); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a store of another format: %v", err)
	}
}
