package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// charged gives a contract a unit, so that even a read of it waits.
func charged(c host.Contract) host.Contract {
	c.Units = []string{"tokens"}
	return c
}

// Nothing may be sent before its record is durable. The ledger's Wait blocks;
// when everything else has come to rest, the tool must not have been reached.
//
// Seen red, for each row, with the barrier of the intent left out, with that
// of a further try left out, and with charged reads taken for plain ones.
func TestNothingIsSentBeforeItsRecordIsDurable(t *testing.T) {
	t.Parallel()
	settled := func() host.Past {
		at := time.Now().Add(-31 * time.Second)
		return host.Past{Tries: 1, First: at, Last: at}
	}
	for name, row := range map[string]struct {
		contract host.Contract
		answers  answers
		verdicts verdicts
		past     func() host.Past
		before   int // sendings of earlier tries
		record   string
	}{
		"a new call of class once":           {shape(host.Once, 1), answers{applied}, nil, nil, 0, "intend"},
		"a new call of class keyed":          {shape(host.Keyed, 1), answers{applied}, nil, nil, 0, "intend"},
		"a new call of class verify":         {shape(host.Verify, 1), answers{applied}, verdicts{found}, nil, 0, "intend"},
		"a new charged read":                 {charged(shape(host.Read, 1)), answers{applied}, nil, nil, 0, "intend"},
		"a further try of class once":        {shape(host.Once, 2), answers{refused, applied}, nil, nil, 1, "retry"},
		"a further try of class keyed":       {shape(host.Keyed, 2), answers{unclear, applied}, nil, nil, 1, "retry"},
		"a further try of class verify":      {shape(host.Verify, 2), answers{unclear, applied}, verdicts{absent}, nil, 1, "retry"},
		"a further try of a charged read":    {charged(shape(host.Read, 2)), answers{unclear, applied}, nil, nil, 1, "retry"},
		"an interrupted call, class keyed":   {shape(host.Keyed, 1), answers{applied}, nil, interrupted, 0, "retry"},
		"an interrupted call, class verify":  {shape(host.Verify, 1), answers{applied}, verdicts{absent}, settled, 0, "retry"},
		"an interrupted call, charged read":  {charged(shape(host.Read, 1)), answers{applied}, nil, interrupted, 0, "retry"},
		"an interrupted call, asked, absent": {shape(host.Keyed, 1), answers{applied}, verdicts{absent}, interrupted, 0, "retry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(row.contract, row.answers, row.verdicts)
				s.ledger.waiting = make(chan struct{})
				s.ledger.block = make(chan struct{})
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				done := make(chan error, 1)
				go func() {
					_, err := s.do(t.Context(), past)
					done <- err
				}()
				waits := func() {
					select {
					case <-s.ledger.waiting:
					case err := <-done:
						t.Fatalf("ended without waiting for its record: %v, %s", err, s)
					}
				}
				waits()
				for range row.before { // let the earlier tries pass
					s.ledger.block <- struct{}{}
					waits()
				}
				synctest.Wait()
				if n := s.count("send"); n != row.before {
					t.Fatalf("sent before the record was durable: %s", s)
				}
				if s.count(row.record) == 0 {
					t.Fatalf("waits without a record: %s", s)
				}
				close(s.ledger.block)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if n := s.count("send"); n != row.before+1 {
					t.Errorf("sent %d times: %s", n, s)
				}
			})
		})
	}
}

func TestUnchargedReadDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Read, 2), answers{unclear, applied}, nil)
		s.ledger.block = make(chan struct{}) // a Wait would never end
		if _, err := s.do(t.Context(), host.Past{}); err != nil {
			t.Fatal(err)
		}
		if got, want := s.String(), "intend send retry@1s send@1s settle@1s"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

var errLedger = errors.New("the budget is spent")

// Seen red with each of the errors passed over.
func TestNothingIsSentAfterAnErrorOfTheLedger(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fail    func(l *fakeLedger)
		class   host.Class
		answers answers
		past    func() host.Past
		diary   string
	}{
		"an intent that is refused":                {func(l *fakeLedger) { l.intendErr = errLedger }, host.Keyed, answers{applied}, nil, "intend"},
		"an intent of a read that is refused":      {func(l *fakeLedger) { l.intendErr = errLedger }, host.Read, answers{applied}, nil, "intend"},
		"an intent that does not become durable":   {func(l *fakeLedger) { l.waitErr = errLedger }, host.Keyed, answers{applied}, nil, "intend wait"},
		"a further try that is refused":            {func(l *fakeLedger) { l.retryErr = errLedger }, host.Keyed, answers{unclear, applied}, nil, "intend wait send retry@1s"},
		"a further read that is refused":           {func(l *fakeLedger) { l.retryErr = errLedger }, host.Read, answers{unclear, applied}, nil, "intend send retry@1s"},
		"an interrupted call that is refused":      {func(l *fakeLedger) { l.retryErr = errLedger }, host.Keyed, answers{applied}, interrupted, "retry"},
		"an interrupted call that is not durable":  {func(l *fakeLedger) { l.waitErr = errLedger }, host.Keyed, answers{applied}, interrupted, "retry wait"},
		"a receipt that is refused":                {func(l *fakeLedger) { l.settleErr = errLedger }, host.Keyed, answers{applied}, nil, "intend wait send settle"},
		"once, tried again: what is known is kept": {func(l *fakeLedger) { l.retryErr = errLedger }, host.Once, answers{refused, applied}, nil, "intend wait send retry@1s settle@1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, 3), row.answers, nil)
				row.fail(s.ledger)
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				r, err := s.do(t.Context(), past)
				if err != errLedger || r != nil { //nolint:errorlint // it must come back as it is
					t.Errorf("got %v, %v", r, err)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("got %s, want %s", got, row.diary)
				}
			})
		})
	}
}

// Seen red with the deadline counted from the sending.
//
// A record that takes long takes its time from the try: the deadline that a
// later process works out from the record is the real one.
func TestDeadlineCountsFromTheRecord(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		slow          time.Duration
		diary, result string
	}{
		"a slow record":                  {4 * time.Second, "intend wait@4s send@4s ask@10s asked@10s settle@10s", "applied, verified"},
		"one slower than the time-out":   {11 * time.Second, "intend wait@11s settle@11s", "not_applied, status 4"},
		"one as slow as the time-out is": {10 * time.Second, "intend wait@10s settle@10s", "not_applied, status 4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(host.Verify, 1), answers{hanging}, verdicts{found})
				s.ledger.slow = row.slow
				if got := result(s.do(t.Context(), host.Past{})); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("got %s, want %s", got, row.diary)
				}
			})
		})
	}
}

// Seen red with an unknown try settled, with a known one dropped, and with the
// receipt given to the ledger under the context that has ended.
func TestEndOfTheContext(t *testing.T) {
	t.Parallel()
	canceled := context.Canceled.Error()
	for name, row := range map[string]struct {
		class         host.Class
		answers       answers
		verdicts      verdicts
		past          func() host.Past
		end           time.Duration
		diary, result string
	}{
		"before anything":                                {host.Once, answers{applied}, nil, nil, -1, "", canceled},
		"while a read is sent":                           {host.Read, answers{hanging}, nil, nil, 5 * time.Second, "intend send", canceled},
		"while once is sent":                             {host.Once, answers{hanging}, nil, nil, 5 * time.Second, "intend wait send", canceled},
		"while keyed is sent":                            {host.Keyed, answers{hanging}, nil, nil, 5 * time.Second, "intend wait send", canceled},
		"while keyed waits to be sent again":             {host.Keyed, answers{unclear}, nil, nil, time.Second / 2, "intend wait send", canceled},
		"while a read waits to be sent again":            {host.Read, answers{slowDown}, nil, nil, 5 * time.Second, "intend send", canceled},
		"while verify is asked":                          {host.Verify, answers{unclear}, verdicts{hangingVerdict}, nil, 5 * time.Second, "intend wait send ask asked@5s", canceled},
		"while verify waits for an absent that counts":   {host.Verify, answers{unclear}, verdicts{absent}, nil, 5 * time.Second, "intend wait send ask asked", canceled},
		"while an interrupted call is asked about":       {host.Once, answers{unclear}, verdicts{hangingVerdict}, interrupted, 5 * time.Second, "ask asked@5s", canceled},
		"found at the last moment":                       {host.Verify, answers{unclear}, verdicts{{Kind: host.Found, Code: hangs}}, nil, 5 * time.Second, "intend wait send ask asked@5s settle@5s", "applied, verified"},
		"applied at the last moment":                     {host.Once, answers{{Outcome: host.OutcomeApplied, Code: hangs}}, nil, nil, 5 * time.Second, "intend wait send settle@5s", "applied, status 0"},
		"rejected at the last moment":                    {host.Once, answers{{Outcome: host.OutcomeRejected, Code: hangs}}, nil, nil, 5 * time.Second, "intend wait send settle@5s", "rejected, status 3"},
		"once is not applied at the last moment":         {host.Once, answers{{Outcome: host.OutcomeNotApplied, Code: hangs}}, nil, nil, 5 * time.Second, "intend wait send settle@5s", canceled},
		"once waits to be sent again, known not applied": {host.Once, answers{slowDown}, nil, nil, 5 * time.Second, "intend wait send settle@5s", canceled},
		"keyed is not applied: a later entry goes on":    {host.Keyed, answers{slowDown}, nil, nil, 5 * time.Second, "intend wait send", canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if row.end < 0 {
					cancel()
				} else {
					time.AfterFunc(row.end, cancel)
				}
				s := newStage(shape(row.class, 3), row.answers, row.verdicts)
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				if got := result(s.do(ctx, past)); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("got %s, want %s", got, row.diary)
				}
			})
		})
	}
}

func TestEndOfTheContextAtTheBarrier(t *testing.T) {
	t.Parallel()
	for class, settled := range map[host.Class]int{
		host.Once:   1, // else a person would be asked about a call that was never sent
		host.Keyed:  0,
		host.Verify: 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			s := newStage(shape(class, 3), answers{applied}, nil)
			s.ledger.block = make(chan struct{})
			if got := result(s.do(ctx, host.Past{})); got != context.Canceled.Error() {
				t.Errorf("%s came to %q", class, got)
			}
			if s.count("send") > 0 || s.count("settle") != settled {
				t.Errorf("%s: %s", class, s)
			}
		})
	}
}

func TestDoFillsInSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Once, 1), answers{applied}, nil)
		if s.call.Sent != nil {
			t.Fatal("the test needs a call without Sent")
		}
		if _, err := s.do(t.Context(), host.Past{}); err != nil {
			t.Fatal(err)
		}
		var told int
		s = newStage(shape(host.Once, 1), answers{applied}, nil)
		s.call.Sent = func() { told++ }
		if _, err := s.do(t.Context(), host.Past{}); err != nil || told != 1 {
			t.Fatalf("told %d times, %v", told, err)
		}
	})
}
