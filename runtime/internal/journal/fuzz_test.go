package journal

import (
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Whatever bytes stand in a store, reading them ends in a state or an error.
func FuzzEntries(f *testing.F) {
	start := Record{Start: &Start{Run: "r", Steps: []string{"a", "b"}, Limits: Limits{Recoveries: 5}}}
	seed := func(records ...Record) {
		f.Add(encode(entry{Format: Format, At: 1, Active: 2, Records: records}))
	}
	seed(Record{Begin: &Begin{Attempt: 1}})
	seed(Record{Intent: &Intent{Attempt: 1, Key: make([]byte, 16), Hash: make([]byte, 32)}})
	seed(Record{Retry: &Retry{Attempt: 1, Try: 2}}, Record{Receipt: &Receipt{Attempt: 1, Units: map[string]int64{"u": 1}}})
	seed(Record{Refusal: &Refusal{Attempt: 1, Call: 1}}, Record{Fail: &Fail{Attempt: 1, Retry: "fresh", Next: 5}})
	seed(Record{Done: &Done{Attempt: 1, Output: kv.Body{Inline: []byte("1")}}}, Record{Park: &Park{Step: 1}})
	seed(Record{Recover: &Recover{Attempt: 1}}, Record{Stop: &Stop{}})
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data)
		if err != nil {
			return
		}
		s := new(State)
		if err := s.apply(1, &entry{Format: Format, Records: []Record{start, {Begin: &Begin{Attempt: 1}}}}); err != nil {
			t.Fatal(err)
		}
		if s.apply(2, e) != nil || s.Ended() {
			return
		}
		_ = s.allowCall([]string{"u"}, time.Now())
		_ = s.AllowAttempt(s.Current, 3, time.Now())
		_ = s.allowRecovery()
	})
}
