package journal

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
)

// records of attempt 1 of step 0, unless a name says otherwise.
var (
	aStart   = Record{Start: &Start{Run: "run", Steps: []string{"one", "two"}, Limits: Limits{Recoveries: 2}}}
	aBegin   = begins(0, 1)
	aStop    = Record{Stop: &Stop{Attempt: 1}}
	aDone    = Record{Done: &Done{Attempt: 1}}
	aPark    = Record{Park: &Park{Attempt: 1, Call: -1, Code: ParkUnknown}}
	aRead    = intends(1, 0, host.Read)
	aWrite   = intends(1, 0, host.Keyed)
	aReceipt = receives(1, 0, abi.OK)
	aRefused = Record{Refusal: &Refusal{Attempt: 1, Status: uint32(abi.Denied)}}
	aRecover = recovers(0)
	aFree    = Record{Recover: &Recover{Attempt: 1, Free: true}}
)

func begins(step, attempt int) Record {
	return Record{Begin: &Begin{Step: step, Attempt: attempt}}
}

func intends(attempt, call int, class host.Class) Record {
	return Record{Intent: &Intent{Attempt: attempt, Call: call, Class: uint8(class), Key: make([]byte, 16), Hash: make([]byte, 32)}}
}

func receives(attempt, call int, status abi.Status) Record {
	outcome := host.OutcomeApplied
	if status != abi.OK {
		outcome = host.OutcomeNotApplied
	}
	return Record{Receipt: &Receipt{Attempt: attempt, Call: call, Status: uint32(status), Outcome: uint8(outcome)}}
}

func tries(call, try int) Record { return Record{Retry: &Retry{Attempt: 1, Call: call, Try: try}} }

func recovers(position int) Record {
	return Record{Recover: &Recover{Attempt: 1, Position: position}}
}

func fails(attempt int, how abi.Retry, next int64) Record {
	return Record{Fail: &Fail{Attempt: attempt, Call: -1, Retry: string(how), Next: next}}
}

// fold makes a state of the records, each an entry of its own, a second apart.
func fold(records ...Record) (*State, error) {
	s := new(State)
	for i, r := range records {
		if err := s.apply(uint64(i+1), &entry{Format: Format, At: int64(i+1) * 1e6, Active: 1000, Records: []Record{r}}); err != nil {
			return s, err
		}
	}
	return s, nil
}

func history(more ...Record) []Record { return append([]Record{aStart, aBegin}, more...) }

// Records that contradict those before them stop their run.
//
// Seen red with each of the checks removed, one by one.
func TestRecordsThatContradictEachOther(t *testing.T) {
	t.Parallel()
	short := intends(1, 0, host.Read)
	short.Intent = &Intent{Attempt: 1, Key: make([]byte, 15), Hash: make([]byte, 32)}
	for name, row := range map[string]struct {
		records []Record
		want    string
	}{
		"anything before the start":             {[]Record{aBegin}, "before the run's start"},
		"a second start":                        {history(aStart), "second start"},
		"a run without steps":                   {[]Record{{Start: &Start{Run: "run"}}}, "without steps"},
		"a record of no kind":                   {history(Record{}), "no known kind"},
		"an attempt left out":                   {history(begins(0, 3)), "out of order"},
		"an attempt begun twice":                {history(begins(0, 1)), "out of order"},
		"a later step begun":                    {history(begins(1, 1)), "out of order"},
		"a completed step begun again":          {history(aDone, begins(0, 2)), "out of order"},
		"a step behind the last one":            {history(begins(2, 1)), "out of order"},
		"a call of an ended attempt":            {history(fails(1, abi.Again, 5), begins(0, 2), aRead), "not open"},
		"a call of an attempt to come":          {history(intends(2, 0, host.Read)), "not open"},
		"a call of a step not begun":            {[]Record{aStart, intends(0, 0, host.Read)}, "not open"},
		"a call of a completed step":            {history(aDone, aRead), "not open"},
		"a completed step ended again":          {history(aDone, begins(1, 1), aDone), "not open"},
		"a call left out":                       {history(intends(1, 1, host.Read)), "call 1 recorded out of order"},
		"a call before the first":               {history(intends(1, -1, host.Read)), "call -1 recorded out of order"},
		"a call made twice in one attempt":      {history(aRead, receives(1, 0, abi.NotApplied), aRead), "call 0 recorded out of order"},
		"an open call made again":               {history(aRead, fails(1, abi.Again, 5), begins(0, 2), intends(2, 0, host.Read)), "call 0 recorded out of order"},
		"an answered call made again":           {history(aRead, aReceipt, fails(1, abi.Again, 5), begins(0, 2), intends(2, 0, host.Read)), "call 0 recorded out of order"},
		"a completed write made again":          {history(aWrite, aReceipt, fails(1, abi.Fresh, 5), begins(0, 2), intends(2, 0, host.Keyed)), "call 0 recorded out of order"},
		"a refused call made twice":             {history(aRefused, aRefused), "call 0 recorded out of order"},
		"a receipt of no call":                  {history(aReceipt), "call 0, which is not open"},
		"a receipt of a call before the first":  {history(aRead, receives(1, -1, abi.OK)), "call -1, which is not open"},
		"a second receipt":                      {history(aRead, aReceipt, aReceipt), "call 0, which is not open"},
		"a try after the receipt":               {history(aRead, aReceipt, tries(0, 2)), "call 0, which is not open"},
		"a try left out":                        {history(aRead, tries(0, 3)), "try 3 of call 0 out of order"},
		"a try recorded twice":                  {history(aRead, tries(0, 2), tries(0, 2)), "try 2 of call 0 out of order"},
		"a step that ends with a call open":     {history(aWrite, aDone), "call 0 is open"},
		"a key that is too short":               {history(short), "wrong length"},
		"a park of a completed step":            {history(aDone, begins(1, 1), aPark), "a park of step 0"},
		"a park behind the last step":           {history(aDone, begins(1, 1), Record{Done: &Done{Step: 1, Attempt: 1}}, Record{Park: &Park{Step: 2}}), "a park of step 2"},
		"a failure of another attempt":          {history(fails(2, abi.Again, 0)), "not open"},
		"a recovery of another attempt":         {history(Record{Recover: &Recover{Attempt: 2}}), "not open"},
		"a recovery of an attempt of nothing":   {[]Record{aStart, {Recover: &Recover{}}}, "not open"},
		"a record behind the end of the run":    {history(aDone, begins(1, 1), Record{Done: &Done{Step: 1, Attempt: 1}}, Record{Recover: &Recover{Step: 2, Attempt: 1}}), "not open"},
		"an attempt begun behind the run's end": {history(aDone, begins(1, 1), Record{Done: &Done{Step: 1, Attempt: 1}}, begins(2, 1)), "out of order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := fold(row.records...); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
			last := len(row.records) - 1
			if _, err := fold(row.records[:last]...); err != nil {
				t.Errorf("the records before: %v", err)
			}
		})
	}
}

// What each record charges.
//
// Seen red with each of the charges removed, one by one.
func TestChargesOfRecords(t *testing.T) {
	t.Parallel()
	paid := receives(1, 0, abi.OK)
	paid.Receipt.Units = map[string]int64{"tokens": 3, "cents": 1}
	for name, row := range map[string]struct {
		records []Record
		want    Used
	}{
		"an attempt":                  {nil, Used{Attempts: 1}},
		"a second attempt":            {[]Record{fails(1, abi.Again, 5), begins(0, 2)}, Used{Attempts: 2}},
		"a step's first attempt":      {[]Record{aDone, begins(1, 1)}, Used{Attempts: 2}},
		"an intent":                   {[]Record{aRead}, Used{Attempts: 1, Calls: 1}},
		"further tries":               {[]Record{aRead, tries(0, 2), tries(0, 3)}, Used{Attempts: 1, Calls: 3}},
		"a refusal":                   {[]Record{aRefused}, Used{Attempts: 1, Calls: 1}},
		"a call made again":           {[]Record{aRead, receives(1, 0, abi.NotApplied), fails(1, abi.Again, 5), begins(0, 2), intends(2, 0, host.Read)}, Used{Attempts: 2, Calls: 2}},
		"units read from an answer":   {[]Record{aRead, paid}, Used{Attempts: 1, Calls: 1, Units: map[string]int64{"tokens": 3, "cents": 1}}},
		"recoveries at one position":  {[]Record{aRecover, aRecover}, Used{Attempts: 1, Recoveries: 2, InARow: 2}},
		"a recovery that got further": {[]Record{aRecover, aRecover, aRead, aReceipt, recovers(1)}, Used{Attempts: 1, Calls: 1, Recoveries: 3, InARow: 1}},
		"a re-entry that is free":     {[]Record{aStop, aFree}, Used{Attempts: 1}},
		"a stop and a park":           {[]Record{aStop, aPark}, Used{Attempts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := history(row.records...)
			s, err := fold(records...)
			if err != nil {
				t.Fatal(err)
			}
			got, want := s.Used, row.want
			if active := time.Duration(len(records)) * time.Millisecond; got.Active != active {
				t.Errorf("active for %s, want %s", got.Active, active)
			}
			if got.Attempts != want.Attempts || got.Calls != want.Calls || got.Recoveries != want.Recoveries || got.InARow != want.InARow ||
				got.Units["tokens"] != want.Units["tokens"] || got.Units["cents"] != want.Units["cents"] {
				t.Errorf("used %+v, want %+v", got, want)
			}
		})
	}
}

// A stop or a park leaves the attempt in good order, until it is entered again.
//
// Seen red with a stop that leaves no mark, with a park that leaves none, and
// with each of the records that clear it leaving it.
func TestGoodOrderLastsUntilTheNextRecord(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		records []Record
		clean   bool
	}{
		"begun":                        {nil, false},
		"stopped":                      {[]Record{aStop}, true},
		"parked":                       {[]Record{aPark}, true},
		"stopped and entered for free": {[]Record{aStop, aFree}, false},
		"parked and entered for free":  {[]Record{aPark, aFree}, false},
		"stopped and recovered":        {[]Record{aStop, aRecover}, false},
		"stopped and calling":          {[]Record{aStop, aRead}, false},
		"parked and begun again":       {[]Record{aPark, begins(0, 2)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := fold(history(row.records...)...)
			if err != nil || s.Clean != row.clean {
				t.Errorf("clean %v, %v", s.Clean, err)
			}
			if parked := name == "parked"; (s.Phase == PhaseDecision) != parked || (s.Park != nil) != parked {
				t.Errorf("%s, park %+v", s.Phase, s.Park)
			}
		})
	}
}

// How often one position may be entered: recoveries count in a row at the same
// place of the same attempt, and the number of settled calls is the place.
//
// Seen red without a limit, with one more, with all recoveries counted, with
// the position left out, with a row that never and that always begins anew,
// and with a position that open calls move.
func TestRecoveriesAreLimitedInARow(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		records []Record
		allowed bool
	}{
		"none":                      {nil, true},
		"one":                       {[]Record{aRecover}, true},
		"as many as there may be":   {[]Record{aRecover, aRecover}, false},
		"a call that is still open": {[]Record{aRecover, aWrite, aRecover, tries(0, 2)}, false},
		"a call was answered":       {[]Record{aRecover, aRecover, aWrite, aReceipt}, true},
		"again behind that call":    {[]Record{aRecover, aRecover, aWrite, aReceipt, recovers(1), recovers(1)}, false},
		"some here, some before":    {[]Record{aRecover, aWrite, aReceipt, recovers(1)}, true},
		"more in all than a row":    {[]Record{aRecover, aWrite, aReceipt, recovers(1), intends(1, 1, host.Read), receives(1, 1, abi.OK), recovers(2)}, true},
		"another attempt":           {[]Record{aRecover, aRecover, fails(1, abi.Again, 5), begins(0, 2)}, true},
		"another step":              {[]Record{aRecover, aRecover, aDone, begins(1, 1)}, true},
		"free ones between":         {[]Record{aRecover, aStop, aFree, aRecover}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := fold(history(row.records...)...)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.allowRecovery(); (err == nil) != row.allowed {
				t.Errorf("at position %d, %+v: %v", s.position(), s.Used, err)
			}
		})
	}
}

// A call that the attempt is to make again is no progress.
//
// Seen red with every answered call counted.
func TestCallToBeMadeAgainIsNoProgress(t *testing.T) {
	t.Parallel()
	s, err := fold(history(aRead, aReceipt, intends(1, 1, host.Read), receives(1, 1, abi.NotApplied), fails(1, abi.Again, 5), begins(0, 2))...)
	if err != nil || s.position() != 1 {
		t.Errorf("position %d, %v", s.position(), err)
	}
}

// What the next attempt does with the calls of the one before.
//
// Seen red with nothing, with everything and with only stale calls made again,
// with a fresh start that forgets nothing and one that forgets the reads
// before the last write, and with a plain retry that forgets.
func TestCallsThatTheNextAttemptMakesAgain(t *testing.T) {
	t.Parallel()
	calls := []Record{
		intends(1, 0, host.Read), receives(1, 0, abi.OK),
		intends(1, 1, host.Keyed), receives(1, 1, abi.OK),
		intends(1, 2, host.Read), receives(1, 2, abi.OK),
		intends(1, 3, host.Once), receives(1, 3, abi.Rejected),
		intends(1, 4, host.Once), receives(1, 4, abi.NotApplied),
	}
	for how, want := range map[abi.Retry]string{
		abi.Again: "0000 1",
		abi.Fresh: "0010 1",
	} {
		s, err := fold(history(append(calls[:len(calls):len(calls)], fails(1, how, 5))...)...)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, c := range s.Steps[0].Calls {
			if i == 4 {
				got.WriteString(" ")
			}
			got.WriteString(map[bool]string{true: "1", false: "0"}[c.Again(2)])
			if c.Again(1) {
				t.Errorf("%s: attempt 1 makes its own call %d again", how, i)
			}
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", how, got.String(), want)
		}
	}
}

// What counts as a completed write.
//
// Seen red with every answered write counted.
func TestCompletedWrites(t *testing.T) {
	t.Parallel()
	s, err := fold(history(
		intends(1, 0, host.Read), receives(1, 0, abi.OK),
		intends(1, 1, host.Keyed), receives(1, 1, abi.OK),
		intends(1, 2, host.Once), receives(1, 2, abi.NotApplied),
		intends(1, 3, host.Verify))...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true, false, false} {
		if got := s.Steps[0].Calls[i].Written(); got != want {
			t.Errorf("call %d: %v", i, got)
		}
	}
}

// A step's clock starts at the time of its first attempt, in every attempt.
//
// Seen red with a time for every attempt.
func TestClockOfAStepStartsWithItsFirstAttempt(t *testing.T) {
	t.Parallel()
	s, err := fold(history(fails(1, abi.Again, 5), begins(0, 2), aRecoverOf(2))...)
	if err != nil || !s.Steps[0].At.Equal(fromMicros(2e6)) {
		t.Errorf("%s, %v", s.Steps[0].At, err)
	}
}

func aRecoverOf(attempt int) Record { return Record{Recover: &Recover{Attempt: attempt}} }

// What a failure leaves behind.
//
// Seen red with the last error not kept, and with a step's failure that stays.
func TestFailureIsKept(t *testing.T) {
	t.Parallel()
	failed := Record{Fail: &Fail{Attempt: 1, Code: "wrong", Call: 0, Next: 7}}
	s, err := fold(history(aWrite, receives(1, 0, abi.NotApplied), failed)...)
	if err != nil {
		t.Fatal(err)
	}
	st := s.Steps[0]
	if s.Phase != PhaseWaiting || st.Phase != PhaseWaiting || !st.Next.Equal(fromMicros(7)) || s.FailedCall == nil || st.Failure.Code != "wrong" {
		t.Errorf("%s until %s, %+v", s.Phase, st.Next, st.Failure)
	}
	again := intends(2, 0, host.Keyed)
	for _, r := range []Record{begins(0, 2), again, receives(2, 0, abi.OK), {Done: &Done{Attempt: 2, Output: kv.Body{Inline: []byte("1")}}}, begins(1, 1)} {
		if err := s.applyRecord(&r, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if s.LastError == nil || s.LastError.Code != "wrong" || s.FailedCall.Attempt != 1 {
		t.Errorf("the last error: %+v, its call %+v", s.LastError, s.FailedCall)
	}
	if st.Failure != nil || !st.Next.IsZero() || st.Phase != PhaseCompleted || string(st.Output.Inline) != "1" {
		t.Errorf("the step: %+v", st)
	}
	if s, err = fold(history(fails(1, abi.Never, 0))...); err != nil || s.Phase != PhaseFailed || s.Ended() {
		t.Errorf("without a next attempt: %s, %v", s.Phase, err)
	}
}
