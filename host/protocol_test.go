package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

type (
	answers  = []host.Answer
	verdicts = []host.Verdict
)

// What tools and receivers say in the tables.
var (
	applied       = host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: host.Response{Status: 200, Type: "json", Body: []byte(`{"id":1}`)}}
	appliedAlone  = host.Answer{Outcome: host.OutcomeApplied}
	rejected      = host.Answer{Outcome: host.OutcomeRejected, Settles: true, Code: "http_422"}
	rejectedAlone = host.Answer{Outcome: host.OutcomeRejected, Code: "http_422"}
	refused       = host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_401"}
	slowDown      = host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: 7 * time.Second}
	unclear       = host.Answer{Code: "http_500"}
	hanging       = host.Answer{Code: hangs}
	panicking     = host.Answer{Code: panics}

	found  = host.Verdict{Kind: host.Found, Response: host.Response{Body: []byte(`{"id":1}`)}}
	absent = host.Verdict{Kind: host.Absent}
	silent = host.Verdict{Code: "http_503"}
)

// interrupted is a call that another process began 5 s ago, with one try.
func interrupted() host.Past {
	at := time.Now().Add(-5 * time.Second)
	return host.Past{Tries: 1, First: at, Last: at}
}

func longAgo() host.Past {
	at := time.Now().Add(-72 * time.Hour)
	return host.Past{Tries: 2, First: at, Last: at}
}

// Seen red with the time-out and the settle time left out of what an absent
// needs, with the key's window passed over, with keyed not asked first, with
// once repeated after an absent, with Retry-After and the tries passed over.
//
// In the diaries: a try times out 10 s after its record, settles 20 s later;
// the back-off is 1, 2, 4 s.
func TestDo(t *testing.T) {
	t.Parallel()
	const oneTry, ok = "intend wait send ", "applied, status 0"
	for name, row := range map[string]struct {
		class    host.Class
		tries    int
		answers  answers
		verdicts verdicts
		past     func() host.Past
		diary    string
		result   string
	}{
		// A read has no unknown outcome.
		"a read is answered":                          {host.Read, 1, answers{applied}, nil, nil, "intend send settle", ok},
		"a read is repeated until it is answered":     {host.Read, 4, answers{unclear, refused, panicking, applied}, nil, nil, "intend send retry@1s send@1s retry@3s send@3s retry@7s send@7s settle@7s", ok},
		"a read waits as long as it is told":          {host.Read, 2, answers{slowDown, applied}, nil, nil, "intend send retry@7s send@7s settle@7s", ok},
		"a read is rejected at once":                  {host.Read, 3, answers{rejectedAlone}, nil, nil, "intend send settle", "rejected, status 3"},
		"a read without an answer in time":            {host.Read, 2, answers{hanging}, nil, nil, "intend send retry@11s send@11s settle@21s", "not_applied, status 7"},
		"a read with an answer that is none":          {host.Read, 2, answers{hanging, unclear}, nil, nil, "intend send retry@11s send@11s settle@11s", "not_applied, status 4"},
		"a read that was interrupted is repeated":     {host.Read, 1, answers{applied}, nil, interrupted, "retry send settle", ok},
		"a read is never asked about":                 {host.Read, 1, answers{unclear}, verdicts{found}, interrupted, "retry send settle", "not_applied, status 4"},
		"a read that was interrupted gets all tries":  {host.Read, 2, answers{unclear}, nil, interrupted, "retry send retry@1s send@1s settle@1s", "not_applied, status 4"},
		"a read's back-off does not outgrow its most": {host.Read, 5, answers{unclear}, nil, nil, "intend send retry@1s send@1s retry@3s send@3s retry@7s send@7s retry@11s send@11s settle@11s", "not_applied, status 4"},

		// Known outcomes, whatever the class.
		"once is applied":                          {host.Once, 1, answers{applied}, nil, nil, oneTry + "settle", ok},
		"once is rejected":                         {host.Once, 3, answers{rejectedAlone}, nil, nil, oneTry + "settle", "rejected, status 3"},
		"once is tried again if it is not applied": {host.Once, 2, answers{refused, applied}, nil, nil, oneTry + "retry@1s wait@1s send@1s settle@1s", ok},
		"not applied, with no tries left":          {host.Keyed, 2, answers{slowDown}, nil, nil, oneTry + "retry@7s wait@7s send@7s settle@7s", "not_applied, status 4"},
		"an outcome that is no number of ours":     {host.Once, 1, answers{{Outcome: 9, Settles: true}}, nil, nil, oneTry[:len(oneTry)-1], "undecided"},

		// Once is never repeated.
		"once, unknown":                              {host.Once, 5, answers{unclear, applied}, nil, nil, "intend wait send", "undecided"},
		"once, a panic":                              {host.Once, 5, answers{panicking, applied}, nil, nil, "intend wait send", "undecided"},
		"once, without an answer in time":            {host.Once, 5, answers{hanging, applied}, nil, nil, "intend wait send", "undecided"},
		"once, not applied and then unknown":         {host.Once, 5, answers{refused, unclear, applied}, nil, nil, oneTry + "retry@1s wait@1s send@1s", "undecided"},
		"once, interrupted":                          {host.Once, 5, answers{applied}, nil, interrupted, "", "undecided"},
		"once, can be asked, found":                  {host.Once, 5, answers{unclear, applied}, verdicts{found}, nil, oneTry + "ask asked settle", "applied, verified"},
		"once, can be asked, found late":             {host.Once, 5, answers{unclear, applied}, verdicts{absent, found}, nil, oneTry + "ask asked ask@30.000000001s asked@30.000000001s settle@30.000000001s", "applied, verified"},
		"once, can be asked, absent":                 {host.Once, 5, answers{unclear, applied}, verdicts{absent}, nil, oneTry + "ask asked ask@30.000000001s asked@30.000000001s", "undecided"},
		"once, can be asked, interrupted and absent": {host.Once, 1, answers{applied}, verdicts{absent}, longAgo, "ask asked", "undecided"},

		// Keyed is repeated with the same key while the receiver remembers it.
		"keyed, unknown, is repeated":                       {host.Keyed, 2, answers{unclear, applied}, nil, nil, oneTry + "retry@1s wait@1s send@1s settle@1s", ok},
		"keyed, applied without settling":                   {host.Keyed, 2, answers{unclear, appliedAlone}, nil, nil, oneTry + "retry@1s wait@1s send@1s settle@1s", ok},
		"keyed, unknown and then rejected":                  {host.Keyed, 2, answers{unclear, rejected}, nil, nil, oneTry + "retry@1s wait@1s send@1s settle@1s", "rejected, status 3"},
		"keyed, unknown and a rejection that settles not":   {host.Keyed, 2, answers{unclear, rejectedAlone}, nil, nil, oneTry + "retry@1s wait@1s send@1s", "undecided"},
		"keyed, unknown and then refused credentials":       {host.Keyed, 2, answers{unclear, refused}, nil, nil, oneTry + "retry@1s wait@1s send@1s", "undecided"},
		"keyed, refused credentials, settled later":         {host.Keyed, 3, answers{unclear, refused, applied}, nil, nil, oneTry + "retry@1s wait@1s send@1s retry@3s wait@3s send@3s settle@3s", ok},
		"keyed, unknown, with no tries left":                {host.Keyed, 1, answers{unclear}, nil, nil, "intend wait send", "undecided"},
		"keyed, interrupted, is sent with its last try":     {host.Keyed, 1, answers{applied}, nil, interrupted, "retry wait send settle", ok},
		"keyed, interrupted, token rotated":                 {host.Keyed, 1, answers{refused}, nil, interrupted, "retry wait send", "undecided"},
		"keyed, interrupted, the key forgotten":             {host.Keyed, 5, answers{applied}, nil, longAgo, "", "undecided"},
		"keyed, the key forgotten during the wait":          {host.Keyed, 9, answers{unclear, {Outcome: host.OutcomeNotApplied, RetryAfter: 95 * time.Second}, applied}, nil, nil, oneTry + "retry@1s wait@1s send@1s", "undecided"},
		"keyed, can be asked, found":                        {host.Keyed, 2, answers{unclear}, verdicts{found}, nil, oneTry + "ask asked settle", "applied, verified"},
		"keyed, can be asked, absent needs no settling":     {host.Keyed, 2, answers{unclear, applied}, verdicts{absent}, nil, oneTry + "ask asked retry@1s wait@1s send@1s settle@1s", ok},
		"keyed, can be asked, absent allows one try more":   {host.Keyed, 1, answers{unclear, applied}, verdicts{absent}, nil, oneTry + "ask asked retry@1s wait@1s send@1s settle@1s", ok},
		"keyed, can be asked, absent does so once":          {host.Keyed, 1, answers{unclear}, verdicts{absent}, nil, oneTry + "ask asked retry@1s wait@1s send@1s ask@1s asked@1s ask@31.000000001s asked@31.000000001s settle@31.000000001s", "not_applied, status 4"},
		"keyed, can be asked, no answer, is repeated":       {host.Keyed, 2, answers{unclear, applied}, verdicts{silent}, nil, oneTry + "ask asked retry@1s wait@1s send@1s settle@1s", ok},
		"keyed, can be asked, no answer, no tries left":     {host.Keyed, 1, answers{unclear, applied}, verdicts{silent}, nil, oneTry + "ask asked ask@1s asked@1s ask@3s asked@3s", "undecided"},
		"keyed, can be asked, interrupted, is asked first":  {host.Keyed, 1, answers{applied}, verdicts{found}, interrupted, "ask asked settle", "applied, verified"},
		"keyed, can be asked, the key forgotten, found":     {host.Keyed, 1, answers{applied}, verdicts{found}, longAgo, "ask asked settle", "applied, verified"},
		"keyed, can be asked, the key forgotten, absent":    {host.Keyed, 5, answers{applied}, verdicts{absent}, longAgo, "ask asked", "undecided"},
		"keyed, can be asked, the key forgotten, no answer": {host.Keyed, 1, answers{applied}, verdicts{silent}, longAgo, "ask asked ask@1s asked@1s ask@3s asked@3s", "undecided"},
		"keyed, absent and settled, then refused": {host.Keyed, 1, answers{refused}, verdicts{absent}, func() host.Past {
			p := interrupted()
			p.Last = p.Last.Add(-30 * time.Second)
			p.First = p.Last
			return p
		}, "ask asked retry wait send settle", "not_applied, status 4"},
		"keyed, absent and not settled, then refused: unsure": {host.Keyed, 2, answers{unclear, refused}, verdicts{absent, silent}, nil, oneTry + "ask asked retry@1s wait@1s send@1s ask@1s asked@1s ask@2s asked@2s ask@4s asked@4s", "undecided"},

		// Verify is asked; only a late "absent" counts.
		"verify, found": {host.Verify, 1, answers{unclear}, verdicts{found}, nil, oneTry + "ask asked settle", "applied, verified"},
		"verify, absent counts when it is settled": {host.Verify, 2, answers{unclear, applied}, verdicts{absent}, nil, oneTry + "ask asked ask@30.000000001s asked@30.000000001s retry@30.000000001s wait@30.000000001s send@30.000000001s settle@30.000000001s", ok},
		"verify, absent at first and then found":   {host.Verify, 2, answers{hanging, applied}, verdicts{absent, found}, nil, oneTry + "ask@10s asked@10s ask@30.000000001s asked@30.000000001s settle@30.000000001s", "applied, verified"},
		"verify, absent allows one try more":       {host.Verify, 1, answers{unclear, applied}, verdicts{absent}, nil, oneTry + "ask asked ask@30.000000001s asked@30.000000001s retry@30.000000001s wait@30.000000001s send@30.000000001s settle@30.000000001s", ok},
		"verify, absent again and again":           {host.Verify, 1, answers{unclear}, verdicts{absent}, nil, oneTry + "ask asked ask@30.000000001s asked@30.000000001s retry@30.000000001s wait@30.000000001s send@30.000000001s ask@30.000000001s asked@30.000000001s ask@1m0.000000002s asked@1m0.000000002s settle@1m0.000000002s", "not_applied, status 4"},
		"verify, no answer":                        {host.Verify, 2, answers{unclear, applied}, verdicts{silent}, nil, oneTry + "ask asked ask@1s asked@1s ask@3s asked@3s", "undecided"},
		"verify, asked as often as it may be sent": {host.Verify, 5, answers{unclear, applied}, verdicts{silent}, nil, oneTry + "ask asked ask@1s asked@1s ask@3s asked@3s ask@7s asked@7s ask@11s asked@11s", "undecided"},
		"verify, no answer and then found":         {host.Verify, 1, answers{unclear}, verdicts{silent, panickingVerdict, found}, nil, oneTry + "ask asked ask@1s asked@1s ask@3s asked@3s settle@3s", "applied, verified"},
		"verify, a query without an answer":        {host.Verify, 1, answers{unclear}, verdicts{hangingVerdict, found}, nil, oneTry + "ask asked@10s ask@11s asked@11s settle@11s", "applied, verified"},
		"verify, told when to ask":                 {host.Verify, 1, answers{unclear}, verdicts{{RetryAfter: 9 * time.Second}, found}, nil, oneTry + "ask asked ask@9s asked@9s settle@9s", "applied, verified"},
		"verify, not applied, needs no question":   {host.Verify, 2, answers{refused, applied}, verdicts{found}, nil, oneTry + "retry@1s wait@1s send@1s settle@1s", ok},
		"verify, interrupted, found":               {host.Verify, 1, answers{applied}, verdicts{found}, interrupted, "ask asked settle", "applied, verified"},
		"verify, interrupted, absent too early":    {host.Verify, 1, answers{applied}, verdicts{absent}, interrupted, "ask asked ask@25.000000001s asked@25.000000001s retry@25.000000001s wait@25.000000001s send@25.000000001s settle@25.000000001s", ok},
		"verify, interrupted long ago, absent":     {host.Verify, 1, answers{applied}, verdicts{absent}, longAgo, "ask asked retry wait send settle", ok},
		"verify, but nobody can be asked":          {host.Verify, 5, answers{unclear, applied}, nil, nil, "intend wait send", "undecided"},
		"verify, a past without times":             {host.Verify, 1, answers{applied}, verdicts{absent, found}, func() host.Past { return host.Past{Tries: 1} }, "ask asked ask@30.000000001s asked@30.000000001s settle@30.000000001s", "applied, verified"},
		"verify, a past from tomorrow": {host.Verify, 1, answers{applied}, verdicts{absent, found}, func() host.Past {
			at := time.Now().Add(24 * time.Hour)
			return host.Past{Tries: 1, First: at, Last: at}
		}, "ask asked ask@30.000000001s asked@30.000000001s settle@30.000000001s", "applied, verified"},
		"keyed, a past from tomorrow": {host.Keyed, 1, answers{applied}, nil, func() host.Past {
			at := time.Now().Add(24 * time.Hour)
			return host.Past{Tries: 1, First: at, Last: at}
		}, "", "undecided"},
		"keyed, made again by a later attempt, the key nearly forgotten": {host.Keyed, 5, answers{unclear, applied}, nil, func() host.Past {
			return host.Past{First: time.Now().Add(-95 * time.Second)}
		}, "intend wait send", "undecided"},
		"keyed, a clock set back by a little": {host.Keyed, 1, answers{applied}, nil, func() host.Past { at := time.Now().Add(time.Second); return host.Past{Tries: 1, First: at, Last: at} }, "retry wait send settle", ok},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, row.tries), row.answers, row.verdicts)
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				r, err := s.do(t.Context(), past)
				if got := s.String(); got != row.diary {
					t.Errorf("happened:\n got %s\nwant %s", got, row.diary)
				}
				if got := result(r, err); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if r != nil && (s.ledger.receipt == nil || !cmp.Equal(*r, *s.ledger.receipt)) {
					t.Errorf("returned %+v, settled %+v", r, s.ledger.receipt)
				}
			})
		})
	}
}

var (
	hangingVerdict   = host.Verdict{Code: hangs}
	panickingVerdict = host.Verdict{Code: panics}
)

func TestNoKeyWindowIsNeverRepeatedBlindly(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		verdicts verdicts
		result   string
	}{
		"nobody can be asked": {nil, "undecided"},
		"found":               {verdicts{found}, "applied, verified"},
		"absent":              {verdicts{absent}, "undecided"},
		"no answer":           {verdicts{silent}, "undecided"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				contract := shape(host.Keyed, 5)
				contract.KeyWindow = host.NoKeyWindow
				s := newStage(contract, answers{unclear, applied}, row.verdicts)
				if got := result(s.do(t.Context(), host.Past{})); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if n := s.count("send"); n != 1 {
					t.Errorf("sent %d times", n)
				}
			})
		})
	}
}

// The clock was set back between two processes: the records show that it is no
// measure of how old the key is. What clocks differ by anyway is in the reserve.
//
// Seen red with a look at the first try alone.
func TestKeyIsNotSentByAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first, last time.Duration // from now
		result      string
	}{
		"both in the past":                    {-30 * time.Minute, -20 * time.Minute, "applied, status 0"},
		"the last one a little in the future": {-30 * time.Minute, 5 * time.Minute, "applied, status 0"},
		"the last one in the future":          {-30 * time.Minute, 20 * time.Minute, "undecided"},
		"both in the future":                  {20 * time.Minute, 20 * time.Minute, "undecided"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				contract := shape(host.Keyed, 5)
				contract.KeyWindow = time.Hour
				s := newStage(contract, answers{applied}, nil)
				now := time.Now()
				got := result(s.do(t.Context(), host.Past{Tries: 2, First: now.Add(row.first), Last: now.Add(row.last)}))
				if got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
			})
		})
	}
}

// A tool may do with a request's body what it likes: what is sent next under the
// key is the request all the same.
//
// Seen red with the call's own body handed out.
func TestToolThatChangesTheBodyItIsGiven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Keyed, 3), answers{unclear, unclear, applied}, nil)
		tool := &scrubbing{Tool: s.tool}
		call := *s.call
		call.Body = []byte(`{"cents":1}`)
		if _, err := host.Do(t.Context(), tool, s.ledger, &call, host.Past{}); err != nil {
			t.Fatal(err)
		}
		for try, body := range tool.bodies {
			if body != `{"cents":1}` {
				t.Errorf("try %d sent %s", try+1, body)
			}
		}
		if len(tool.bodies) != 3 {
			t.Errorf("%d tries", len(tool.bodies))
		}
	})
}

// scrubbing takes what may be confidential out of memory.
type scrubbing struct {
	host.Tool
	bodies []string
}

func (s *scrubbing) Try(ctx context.Context, c *host.Call) host.Answer {
	s.bodies = append(s.bodies, string(c.Body))
	clear(c.Body)
	return s.Tool.Try(ctx, c)
}

func TestUndecidedErrorIsForAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Once, 1), answers{unclear}, nil)
		start := time.Now()
		_, err := s.do(t.Context(), host.Past{})
		var undecided *host.UndecidedError
		if !errors.As(err, &undecided) || !errors.Is(err, host.ErrOutcomeUnknown) {
			t.Fatalf("got %v", err)
		}
		key := s.call.Key
		if undecided.Tool != "pay" || undecided.Class != host.Once || undecided.Key != key || undecided.Tries != 1 || !undecided.Last.Equal(start) {
			t.Errorf("%+v", undecided)
		}
		if want := "Look for " + key.String() + "."; undecided.Help != want {
			t.Errorf("help %q, want %q", undecided.Help, want)
		}
		if !strings.Contains(err.Error(), "class is once") || s.ledger.receipt != nil {
			t.Errorf("%v, receipt %v", err, s.ledger.receipt)
		}
	})
}

func TestRetryTellsTheLedgerWhatCameBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Keyed, 2), answers{unclear, applied}, nil)
		if _, err := s.do(t.Context(), interrupted()); err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, r := range s.ledger.retries {
			codes = append(codes, r.Last.Code)
		}
		if diff := cmp.Diff([]string{"interrupted", "http_500"}, codes); diff != "" {
			t.Error(diff)
		}
		var tries []int
		for _, e := range s.all() {
			if e.what == "send" {
				tries = append(tries, e.call.Try)
			}
		}
		if diff := cmp.Diff([]int{2, 3}, tries); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	response := host.Response{Status: 422, Type: "json", Body: []byte(`{"why":"no"}`)}
	for name, row := range map[string]struct {
		class    host.Class
		answer   host.Answer
		verdicts verdicts
		want     host.Receipt
	}{
		"applied": {
			host.Once,
			host.Answer{Outcome: host.OutcomeApplied, Response: response, Code: "http_200", Message: "fine"},
			nil,
			host.Receipt{Outcome: host.OutcomeApplied, Status: abi.OK, Response: response},
		},
		"rejected": {
			host.Once,
			host.Answer{Outcome: host.OutcomeRejected, Response: response, Code: "http_422", Message: "no", RetryAfter: time.Hour},
			nil,
			host.Receipt{Outcome: host.OutcomeRejected, Status: abi.Rejected, Response: response, Code: "http_422", Message: "no"},
		},
		"not applied": {
			host.Once,
			host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", Message: "later", RetryAfter: time.Hour},
			nil,
			host.Receipt{Outcome: host.OutcomeNotApplied, Status: abi.NotApplied, Code: "http_429", Message: "later", After: time.Hour},
		},
		"a code that is none": {
			host.Once,
			host.Answer{Outcome: host.OutcomeRejected, Code: "No, thanks!"},
			nil,
			host.Receipt{Outcome: host.OutcomeRejected, Status: abi.Rejected, Code: "rejected"},
		},
		"a read that is not answered": {
			host.Read,
			host.Answer{Message: "broken"},
			nil,
			host.Receipt{Outcome: host.OutcomeNotApplied, Status: abi.NotApplied, Code: "not_applied", Message: "broken"},
		},
		"found": {
			host.Once, unclear,
			verdicts{{Kind: host.Found, Response: response, Units: map[string]int64{"tokens": 7}}},
			host.Receipt{Outcome: host.OutcomeApplied, Status: abi.OK, Response: response, Units: map[string]int64{"tokens": 7}, Verified: true},
		},
		"only units of the contract, and no negative ones": {
			host.Once,
			host.Answer{Outcome: host.OutcomeApplied, Units: map[string]int64{"tokens": 5, "cent": -5, "stars": 1}},
			nil,
			host.Receipt{Outcome: host.OutcomeApplied, Status: abi.OK, Units: map[string]int64{"tokens": 5}},
		},
		"a long message": {
			host.Once,
			host.Answer{Outcome: host.OutcomeRejected, Code: "no", Message: strings.Repeat("ü", 2000)},
			nil,
			host.Receipt{Outcome: host.OutcomeRejected, Status: abi.Rejected, Code: "no", Message: strings.Repeat("ü", 1024) + " ..."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				contract := shape(row.class, 1)
				contract.Units = []string{"tokens", "cent"}
				s := newStage(contract, answers{row.answer}, row.verdicts)
				r, err := s.do(t.Context(), host.Past{})
				if err != nil {
					t.Fatal(err)
				}
				row.want.At = time.Now()
				if diff := cmp.Diff(row.want, *r); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
