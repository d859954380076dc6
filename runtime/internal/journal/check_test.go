package journal

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// sound is a store with an ended, a parked and an open run, with payloads of
// every kind.
func sound(t *testing.T) *shelf {
	t.Helper()
	s := newShelf(t)
	ended := s.begin("ended", "id-ended", Limits{})
	ended.log("a", "b")
	s.call(ended, 0, host.Contract{Effect: host.Keyed}, applied())
	ended.log("c")
	ended.LeaveOut(1, 1, 1)
	parked := s.begin("parked", "id-parked", Limits{})
	s.begin("open", "id-open", Limits{})
	labelled := &Start{
		Run: "labelled", ExternalID: "id-labelled", Workflow: "test", Digest: digest, Root: "r",
		Steps: []string{"one"}, Labels: map[string]string{"order": "b"},
	}
	if _, _, err := s.book.Begin(t.Context(), labelled, nil, [32]byte{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		ended.Complete(t.Context(), large('o')),
		ended.Complete(t.Context(), nil),
		parked.Park(t.Context(), &Park{Attempt: 1, Call: -1, Code: ParkUnknown}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if problems := s.book.Check(); problems != nil {
		t.Fatal(errors.Join(problems...))
	}
	return s
}

// chunk is the one key of the run's payload that holds so many of c.
func (s *shelf) chunk(prefix string, c byte) string {
	s.t.Helper()
	for key, value := range s.durable {
		if strings.HasPrefix(key, prefix) && string(value) == string(large(c)) {
			return key
		}
	}
	s.t.Fatalf("no payload of %c under %s", c, prefix)
	return ""
}

// under is the one key under prefix.
func (s *shelf) under(prefix string) string {
	s.t.Helper()
	for key := range s.durable {
		if strings.HasPrefix(key, prefix) {
			return key
		}
	}
	s.t.Fatalf("nothing under %s", prefix)
	return ""
}

// Check finds each kind of what does not fit together, and says which run it
// is about. It finds nothing else, and changes nothing.
//
// Seen red with each of its sentences, and each of the reads of payloads,
// left out, one by one.
func TestCheckFindsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	names := func(run string) []byte { return encode(external{Run: run, Workflow: "test"}) }
	for name, row := range map[string]struct {
		damage func(s *shelf)
		want   []string
	}{
		"a missing record":                      {func(s *shelf) { delete(s.durable, "r/open/e\x00\x00\x00\x00\x00\x00\x00\x01") }, []string{"run open: undecodable"}},
		"a missing head":                        {func(s *shelf) { delete(s.durable, "r/open/h") }, []string{"run open is listed as open and does not exist", `external id "id-open" names run open`}},
		"a changed input":                       {func(s *shelf) { s.durable[s.chunk("r/open/", 'i')] = large('x') }, []string{"run open: undecodable"}},
		"a missing request":                     {func(s *shelf) { delete(s.durable, s.chunk("r/ended/", 'q')) }, []string{"run ended: undecodable"}},
		"a missing response":                    {func(s *shelf) { delete(s.durable, s.chunk("r/ended/", 'a')) }, []string{"run ended: undecodable"}},
		"a missing output":                      {func(s *shelf) { delete(s.durable, s.chunk("r/ended/", 'o')) }, []string{"run ended: undecodable"}},
		"lines that are missing":                {func(s *shelf) { delete(s.durable, s.page("ended", 1, 2)) }, []string{"1 lines up to 3, behind line 0"}},
		"a page that nobody can read":           {func(s *shelf) { s.durable[s.page("ended", 1, 2)] = []byte("?") }, []string{"run ended: undecodable"}},
		"a page of another format":              {func(s *shelf) { s.durable[s.page("ended", 1, 2)] = encode(logPage{Format: 2}) }, []string{"format 2"}},
		"a log of an attempt that is not there": {func(s *shelf) { s.durable[s.page("ended", 2, 2)] = s.durable[s.page("ended", 1, 2)] }, []string{"attempt 2 of step one, which is not there"}},
		"a log of another step": {func(s *shelf) {
			s.durable[string(logKey("open", logScope{1, 1, 0}, 2))] = s.durable[s.page("ended", 1, 2)]
		}, []string{`a log of step 1, "one", which is not there`}},
		"what was left out in the place of lines":     {func(s *shelf) { s.durable[s.page("ended", 1, 3)] = s.durable[s.page("ended", 1, lastPage)] }, []string{"neither lines nor"}},
		"a key too short among a log's":               {func(s *shelf) { s.durable["r/open/l1"] = nil }, []string{"not the key of a log's page"}},
		"a workflow that is gone":                     {func(s *shelf) { delete(s.durable, "w/0badcafe") }, []string{"run ended: pawl: not found: workflow", "run open: pawl: not found: workflow", "run parked: pawl: not found: workflow", "run labelled: pawl: not found: workflow"}},
		"a workflow's file that is gone":              {func(s *shelf) { delete(s.durable, s.under("w/0badcafe/")) }, []string{"run ended: workflow", "run open: workflow", "run parked: workflow", "run labelled: workflow"}},
		"a module that is gone":                       {func(s *shelf) { delete(s.durable, s.under("m/")) }, []string{"run ended: pawl: not found: module", "run open: pawl: not found: module", "run parked: pawl: not found: module", "run labelled: pawl: not found: module"}},
		"an open run that is not":                     {func(s *shelf) { s.durable["o/nobody"] = []byte{1} }, []string{"run nobody is listed as open and does not exist"}},
		"an ended run that is listed as open":         {func(s *shelf) { s.durable["o/ended"] = []byte{1} }, []string{"run ended is listed as open and has ended"}},
		"a key too short in the list of ended runs":   {func(s *shelf) { s.durable["e/short"] = []byte{1} }, []string{`undecodable record at "e/short"`}},
		"an open run that is listed as ended":         {func(s *shelf) { s.durable[string(endedKey(time.Now(), "open"))] = []byte{1} }, []string{"run open is listed as ended and has not"}},
		"a run that is not listed as ended":           {func(s *shelf) { s.durable[string(endedKey(time.Now(), "nobody"))] = []byte{1} }, []string{"run nobody is listed as ended and has not"}},
		"a listing that nobody can read":              {func(s *shelf) { s.durable["o/parked"] = []byte{1} }, []string{`run parked: undecodable record at "o/parked"`}},
		"a listing of another time":                   {func(s *shelf) { s.durable["o/parked"] = s.durable["o/open"] }, []string{"run parked is listed as open  and is needs_decision unknown"}},
		"an ended run's listing that nobody can read": {func(s *shelf) { s.durable[s.under("e/")] = []byte{2} }, []string{`run ended: undecodable record at "e/`}},
		"an ended run's listing of another run":       {func(s *shelf) { s.durable[s.under("e/")] = s.durable["o/open"] }, []string{"run ended is listed as open  and is completed"}},
		"a label that no run has":                     {func(s *shelf) { s.durable["l/order\x00a\x00open"] = []byte{1} }, []string{"run open is listed under a label"}},
		"a label that is missing":                     {func(s *shelf) { delete(s.durable, s.under("l/")) }, []string{"run labelled is not found by its label"}},
		"an ended run that is not listed so":          {func(s *shelf) { delete(s.durable, s.under("e/")) }, []string{"run ended has ended and is not listed so"}},
		"an open run that is not listed so":           {func(s *shelf) { delete(s.durable, "o/open") }, []string{"run open is open and is not listed so"}},
		"an external id that nobody can read":         {func(s *shelf) { s.durable["x/id-open"] = []byte("?") }, []string{`undecodable record at "x/id-open"`, `run open is not found by its external id "id-open"`}},
		"an external id that is missing":              {func(s *shelf) { delete(s.durable, "x/id-open") }, []string{`run open is not found by its external id "id-open"`}},
		"an external id of no run":                    {func(s *shelf) { s.durable["x/other"] = names("nobody") }, []string{`external id "other" names run nobody`}},
		"an external id of another run":               {func(s *shelf) { s.durable["x/other"] = names("open") }, []string{`external id "other" names run open`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sound(t)
			row.damage(s)
			before := maps.Clone(s.durable)
			problems := s.book.Check()
			if len(problems) != len(row.want) {
				t.Errorf("%d problems, want %d", len(problems), len(row.want))
			}
			text := errors.Join(problems...)
			for _, want := range row.want {
				if text == nil || !strings.Contains(text.Error(), want) {
					t.Errorf("%v\ndoes not say %q", text, want)
				}
			}
			if !maps.EqualFunc(before, s.durable, func(a, b []byte) bool { return string(a) == string(b) }) {
				t.Error("the store was changed")
			}
		})
	}
}
