package journal

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// numbered is an intent whose request is n.
func numbered(attempt, call int, class host.Class, n byte) Record {
	r := intends(attempt, call, class)
	r.Intent.Hash = append(make([]byte, 31), n)
	r.Intent.Key = append(make([]byte, 15), n)
	return r
}

func claims(attempt, call int, of uint64) Record {
	return Record{Claim: &Claim{Attempt: attempt, Call: call, Of: of}}
}

// secondAttempt is the history of a first attempt whose call 0 did not work,
// with two writes and a read behind it (entries 5, 7 and 9), and the second
// attempt's call 0 (entry 13).
func secondAttempt(more ...Record) []Record {
	return append(history(
		numbered(1, 0, host.Keyed, 1), receives(1, 0, abi.NotApplied),
		numbered(1, 1, host.Keyed, 2), receives(1, 1, abi.OK),
		numbered(1, 2, host.Keyed, 3), receives(1, 2, abi.OK),
		numbered(1, 3, host.Read, 4), receives(1, 3, abi.OK),
		fails(1, abi.Again, 5), begins(0, 2), numbered(2, 0, host.Keyed, 1)), more...)
}

// Claims that contradict the records before them stop their run.
//
// Seen red with each of the checks removed, one by one.
func TestClaimsThatContradictTheirJournal(t *testing.T) {
	t.Parallel()
	done := Record{Done: &Done{Attempt: 2}}
	worked := receives(2, 0, abi.OK)
	for name, row := range map[string]struct {
		records []Record
		want    string
	}{
		"of nothing":                          {[]Record{worked, claims(2, 1, 4)}, "not there to be claimed"},
		"twice":                               {[]Record{worked, claims(2, 1, 5), claims(2, 2, 5)}, "not there to be claimed"},
		"at another place":                    {[]Record{worked, claims(2, 2, 5)}, "not there to be claimed"},
		"by another attempt":                  {[]Record{worked, claims(1, 1, 5)}, "not open"},
		"out of order":                        {[]Record{worked, claims(2, 1, 7), claims(2, 2, 5)}, "what it must not"},
		"an outdated read":                    {[]Record{worked, claims(2, 1, 9)}, "what it must not"},
		"a settled write made again instead":  {[]Record{worked, numbered(2, 1, host.Keyed, 2)}, "made again"},
		"a step that ends without its writes": {[]Record{worked, claims(2, 1, 7), done}, "ended without"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			last := len(row.records) - 1
			if _, err := fold(secondAttempt(row.records...)...); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
			if _, err := fold(secondAttempt(row.records[:last]...)...); err != nil {
				t.Errorf("the records before: %v", err)
			}
		})
	}
	left := history(
		numbered(1, 0, host.Keyed, 1), receives(1, 0, abi.NotApplied), numbered(1, 1, host.Keyed, 2),
		fails(1, abi.Again, 5), begins(0, 2), numbered(2, 0, host.Keyed, 1))
	if _, err := fold(left...); err == nil || !strings.Contains(err.Error(), "while it is open") {
		t.Errorf("an open call left behind: %v", err)
	}
}

// What a claim does to a step: the receipt is there, nothing is charged, the
// rest stays unclaimed, and the step can end once all effects are claimed.
//
// Seen red with a claim that is charged, and with a claimed call that stays
// unclaimed.
func TestClaimedCalls(t *testing.T) {
	t.Parallel()
	s, err := fold(secondAttempt(receives(2, 0, abi.NotApplied), claims(2, 1, 5), claims(2, 2, 9))...)
	if err != nil {
		t.Fatal(err)
	}
	st := s.Steps[0]
	if len(st.Calls) != 3 || len(st.Unclaimed) != 1 || st.Unclaimed[0].Seq != 7 || len(st.Orphans()) != 1 {
		t.Fatalf("%d calls, %d unclaimed", len(st.Calls), len(st.Unclaimed))
	}
	if c := st.Calls[1]; !c.Claimed || c.Attempt != 2 || c.Receipt == nil || c.Seq != 5 || c.Tries != 1 {
		t.Errorf("claimed %+v", c)
	}
	if s.Used.Calls != 5 {
		t.Errorf("%d calls charged", s.Used.Calls)
	}
	if _, err := fold(secondAttempt(receives(2, 0, abi.NotApplied), claims(2, 1, 5), claims(2, 2, 7), Record{Done: &Done{Attempt: 2}})...); err != nil {
		t.Error(err)
	}
}

// A call that is made again keeps the time since which its receiver may know
// the key, wherever the line has it now.
//
// Seen red with the time of the last intent.
func TestCallMadeAgainElsewhereKeepsItsFirstTime(t *testing.T) {
	t.Parallel()
	s, err := fold(history(
		numbered(1, 0, host.Keyed, 1), receives(1, 0, abi.NotApplied), numbered(1, 1, host.Keyed, 2), receives(1, 1, abi.NotApplied),
		fails(1, abi.Again, 5), begins(0, 2), numbered(2, 0, host.Keyed, 1), receives(2, 0, abi.OK),
		numbered(2, 1, host.Keyed, 3), receives(2, 1, abi.OK), numbered(2, 2, host.Keyed, 2))...)
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Steps[0].Calls[2]; c.First.Unix() != 5 || c.Last.Unix() != 13 || len(s.Steps[0].Unclaimed) != 0 {
		t.Errorf("first %s, last %s", c.First, c.Last)
	}
}

// An unknown outcome is a receipt only of a call whose step asked to see it.
//
// Seen red with unknown receipts of every call.
func TestUnknownReceiptNeedsAStepThatAskedForIt(t *testing.T) {
	t.Parallel()
	unknown := receives(1, 0, abi.Unknown)
	unknown.Receipt.Outcome = uint8(host.OutcomeUnknown)
	if _, err := fold(history(aWrite, unknown)...); err == nil || !strings.Contains(err.Error(), "did not ask to see that") {
		t.Error(err)
	}
	sees := intends(1, 0, host.Keyed)
	sees.Intent.SeeUnknown = true
	s, err := fold(history(sees, unknown, aDone)...)
	if err != nil || s.Steps[0].Phase != PhaseCompleted {
		t.Error(err)
	}
}
