package host_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pawl-dev/pawl/host"
	"pgregory.net/rapid"
)

var (
	forbiddenToAsk = host.Verdict{Code: "http_401", CredentialsRefused: true}
	locked         = host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_401", CredentialsRefused: true}
	laterPlease    = host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: time.Hour}
)

// A wait that is longer than the call's patience of 5 s ends the entry, with
// nothing settled; the next entry goes on as if there had been none.
//
// Seen red with the tries counted anew after a wait, with what is not applied
// forgotten, with once settled as stopped, with refused credentials using up a
// try, and with a wait that is slept through.
func TestAWaitLeaves(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class    host.Class
		tries    int
		answers  answers
		verdicts verdicts
		past     func() host.Past
		until    time.Duration
		waited   host.Waited
		paused   bool
		first    string // diary until it leaves
		then     string // and afterwards
		result   string
	}{
		"a read is told to wait": {
			host.Read, 2,
			answers{laterPlease, unclear},
			nil, nil,
			time.Hour,
			host.Waited{Sent: 1, Unapplied: true, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429"}},
			false,
			"intend send", "retry@1h0m0s send@1h0m0s settle@1h0m0s", "not_applied, status 4",
		},
		"once is told to wait": {
			host.Once, 2,
			answers{laterPlease, applied},
			nil, nil,
			time.Hour,
			host.Waited{Sent: 1, Unapplied: true, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429"}},
			false,
			"intend wait send", "retry@1h0m0s wait@1h0m0s send@1h0m0s settle@1h0m0s", "applied, status 0",
		},
		"keyed is told to wait, unknown before": {
			host.Keyed, 3,
			answers{unclear, {Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: time.Minute}, applied},
			nil, nil,
			61 * time.Second,
			host.Waited{Sent: 2, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429"}},
			false,
			"intend wait send retry@1s wait@1s send@1s", "retry@1m1s wait@1m1s send@1m1s settle@1m1s", "applied, status 0",
		},
		"keyed waits longer than its key": {
			host.Keyed, 3,
			answers{unclear, laterPlease, applied},
			nil, nil,
			time.Hour + time.Second,
			host.Waited{Sent: 2, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429"}},
			false,
			"intend wait send retry@1s wait@1s send@1s", "", "undecided",
		},
		"keyed waits longer than its key, known not to be applied": {
			host.Keyed, 3,
			answers{laterPlease, applied},
			nil, nil,
			time.Hour,
			host.Waited{Sent: 1, Unapplied: true, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429"}},
			false,
			"intend wait send", "retry@1h0m0s wait@1h0m0s send@1h0m0s settle@1h0m0s", "applied, status 0",
		},
		"verify waits for an absent that counts": {
			host.Verify, 1,
			answers{unclear, applied},
			verdicts{absent},
			nil,
			30*time.Second + 1,
			host.Waited{Sent: 1, Last: host.Answer{Code: "http_500"}},
			false,
			"intend wait send ask asked", "ask@30.000000001s asked@30.000000001s retry@30.000000001s wait@30.000000001s send@30.000000001s settle@30.000000001s", "applied, status 0",
		},
		"verify is told when to ask": {
			host.Verify, 1,
			answers{unclear, applied},
			verdicts{{Code: "http_429", RetryAfter: time.Minute}, silent, silent},
			nil,
			time.Minute,
			host.Waited{Sent: 1, Asked: 1, Last: host.Answer{Code: "http_500"}},
			false,
			"intend wait send ask asked", "ask@1m0s asked@1m0s ask@1m2s asked@1m2s", "undecided",
		},
		"the wait of a sending outlasts that of a query": {
			host.Keyed, 2,
			answers{unclear, {Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: 40 * time.Second}, applied},
			verdicts{silent, {RetryAfter: 37 * time.Second}, absent},
			nil,
			38 * time.Second,
			host.Waited{Sent: 2, Asked: 1, Last: host.Answer{Outcome: host.OutcomeNotApplied, Code: "http_429", RetryAfter: 3 * time.Second}},
			false,
			"intend wait send ask asked retry@1s wait@1s send@1s ask@1s asked@1s", "ask@38s asked@38s retry@41s wait@41s send@41s settle@41s", "applied, status 0",
		},
		"refused credentials use up no try": {
			host.Once, 1,
			answers{locked, applied},
			nil, nil,
			time.Minute,
			host.Waited{Unapplied: true, Last: locked},
			true,
			"intend wait send", "retry@1m0s wait@1m0s send@1m0s settle@1m0s", "applied, status 0",
		},
		"refused credentials of a read": {
			host.Read, 1,
			answers{locked, applied},
			nil, nil,
			time.Minute,
			host.Waited{Unapplied: true, Last: locked},
			true,
			"intend send", "retry@1m0s send@1m0s settle@1m0s", "applied, status 0",
		},
		"refused credentials settle nothing": {
			host.Keyed, 1,
			answers{locked, locked, applied},
			nil, interrupted,
			time.Minute,
			host.Waited{Last: locked},
			true,
			"retry wait send", "retry@1m0s wait@1m0s send@1m0s", "waits",
		},
		"refused credentials of a query are no answer to it": {
			host.Verify, 1,
			answers{applied},
			verdicts{forbiddenToAsk, found},
			interrupted,
			time.Minute,
			host.Waited{Last: host.Answer{Code: "interrupted", Message: "the process ended before the outcome was known"}},
			true,
			"ask asked", "ask@1m0s asked@1m0s settle@1m0s", "applied, verified",
		},
		"refused credentials after an absent that allowed a try more": {
			host.Verify, 1,
			answers{locked, rejected},
			verdicts{absent},
			longAgo,
			time.Minute,
			host.Waited{Unapplied: true, Last: locked},
			true,
			"ask asked retry wait send", "retry@1m0s wait@1m0s send@1m0s settle@1m0s", "rejected, status 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, row.tries), row.answers, row.verdicts)
				s.call.Patience = 5 * time.Second
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				_, err := s.do(t.Context(), past)
				var wait *host.WaitError
				if !errors.As(err, &wait) {
					t.Fatalf("did not leave to wait: %v, %s", err, s)
				}
				if got := wait.Until.Sub(s.start); got != row.until || wait.Paused != row.paused || wait.Hanging {
					t.Errorf("waits until %s, %+v", got, wait)
				}
				if diff := cmp.Diff(row.waited, wait.Waited); diff != "" {
					t.Error(diff)
				}
				if got := s.String(); got != row.first {
					t.Errorf("first:\n got %s\nwant %s", got, row.first)
				}
				s.diary.clear()
				next := s.ledger.past(wait)
				if next.Tries == 0 {
					next.Tries, next.First, next.Last = past.Tries, past.First, past.Last
				}
				time.Sleep(time.Until(wait.Until))
				if got := result(s.do(t.Context(), next)); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if got := s.String(); got != row.then {
					t.Errorf("then:\n got %s\nwant %s", got, row.then)
				}
			})
		})
	}
}

// Three days pass before a person resumes a run whose call waits.
//
// Seen red with the window looked at only when a call is new.
func TestAKeyIsNotUsedAfterALongWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		contract := shape(host.Keyed, 5)
		contract.KeyWindow = 24 * time.Hour
		s := newStage(contract, answers{unclear, slowDown, applied}, nil)
		s.call.Patience = 5 * time.Second
		_, err := s.do(t.Context(), host.Past{})
		var wait *host.WaitError
		if !errors.As(err, &wait) {
			t.Fatal(err)
		}
		time.Sleep(72 * time.Hour)
		if got := result(s.do(t.Context(), s.ledger.past(wait))); got != "undecided" || s.count("send") != 2 {
			t.Errorf("came to %q: %s", got, s)
		}
	})
}

// A person who resumes early means it: nothing more is waited for.
func TestAWaitIsOverWhenSomebodyGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Once, 2), answers{laterPlease, applied}, nil)
		s.call.Patience = time.Second
		_, err := s.do(t.Context(), host.Past{})
		var wait *host.WaitError
		if !errors.As(err, &wait) {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		r, err := s.do(t.Context(), s.ledger.past(wait))
		if got, want := s.String(), "intend wait send retry@3s wait@3s send@3s settle@3s"; got != want {
			t.Errorf("got %s, want %s; %s", got, want, result(r, err))
		}
	})
}

// What is known not to be applied, and recorded so, is left open by a stop.
//
// Seen red with such a call settled as stopped.
func TestAStopAfterAWaitSettlesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newStage(shape(host.Once, 2), answers{laterPlease, applied}, nil)
		s.call.Patience = time.Second
		s.call.Sends = &host.Sends{}
		s.call.Sends.Begin(s.call.Key)
		past := host.Past{Tries: 1, First: s.start, Last: s.start, Waited: &host.Waited{Sent: 1, Unapplied: true}}
		time.AfterFunc(time.Second/2, cancel)
		if got := result(s.do(ctx, past)); got != context.Canceled.Error() || s.String() != "" {
			t.Errorf("came to %q: %s", got, s)
		}
	})
}

// A call that leaves for each of its waits does what one does that waits: the
// same sendings and queries at the same times, and the same end.
//
// Seen red with the tries, the queries and the granted try counted anew, and
// with the rest of a Retry-After dropped.
func TestLeavingChangesNothing(t *testing.T) {
	t.Parallel()
	for range 20 { // what is rare needs more than the usual 100 plays
		rapid.Check(t, func(rt *rapid.T) { leavingChangesNothing(t, rt) })
	}
}

func leavingChangesNothing(t *testing.T, rt *rapid.T) {
	p := drawPlay(rt)
	p.ends = false
	for i := range len(p.answers) - 1 { // the last one is given for ever
		if a := &p.answers[i]; a.Outcome == host.OutcomeNotApplied {
			a.CredentialsRefused = rapid.Bool().Draw(rt, "refused")
		}
	}
	if p.contract.Effect == host.Keyed {
		p.verdicts = nil
	}
	var diaries, results [2]string
	for i, patience := range []time.Duration{0, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			s, past := p.stage()
			s.call.Patience = patience
			r, err := s.do(t.Context(), past)
			for n := 0; n < 100; n++ {
				var wait *host.WaitError
				if !errors.As(err, &wait) {
					break
				}
				time.Sleep(time.Until(wait.Until))
				next := s.ledger.past(wait)
				if past.Tries > 0 {
					next.First = past.First
				}
				if next.Tries == 0 {
					next.Tries, next.Last = past.Tries, past.Last
				}
				r, err = s.do(t.Context(), next)
			}
			diaries[i], results[i] = s.String(), result(r, err)
		})
	}
	if diaries[0] != diaries[1] || results[0] != results[1] {
		rt.Fatalf("waiting: %s, %s\nleaving: %s, %s", results[0], diaries[0], results[1], diaries[1])
	}
}
