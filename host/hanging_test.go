package host_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// deaf makes the first send of a stage ignore its context until it is let go.
func (s *stage) deaf() (letGo chan struct{}) {
	letGo = make(chan struct{})
	s.fake.onSend = func() {
		if s.fake.sent == 0 {
			<-letGo
			s.note(nil, "returns")
		}
	}
	return letGo
}

// A send that ignores its deadline (of 10 s) is left behind a second later. As
// long as it lives, its key is not sent again and an absent says nothing; then
// the receiver has its settle time of 20 s.
//
// Seen red with a second send while the first is live, with an absent believed
// meanwhile and right after, and with the tool waited for.
func TestASendThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class    host.Class
		tries    int
		verdicts verdicts
		patience time.Duration
		letGo    time.Duration
		diary    string
		result   string
	}{
		"once goes to a person":                  {host.Once, 5, nil, 0, 60 * time.Second, "intend wait send", "undecided"},
		"a read, with no tries left":             {host.Read, 1, nil, 0, 60 * time.Second, "intend send settle@11s", "not_applied, status 7"},
		"a read is not sent a second time":       {host.Read, 2, nil, 0, 60 * time.Second, "intend send returns@1m0s retry@1m0s send@1m0s settle@1m0s", "applied, status 0"},
		"a read comes back":                      {host.Read, 2, nil, 5 * time.Second, 60 * time.Second, "intend send", "waits"},
		"keyed is not sent a second time":        {host.Keyed, 2, nil, 0, 50 * time.Second, "intend wait send returns@50s retry@50s wait@50s send@50s settle@50s", "applied, status 0"},
		"keyed, until the key may be forgotten":  {host.Keyed, 2, nil, 0, 90 * time.Second, "intend wait send returns@1m30s", "undecided"},
		"keyed comes back":                       {host.Keyed, 2, nil, 5 * time.Second, 60 * time.Second, "intend wait send", "waits"},
		"keyed is asked about, found":            {host.Keyed, 2, verdicts{found}, 5 * time.Second, 60 * time.Second, "intend wait send ask@11s asked@11s settle@11s", "applied, verified"},
		"keyed is asked about, absent":           {host.Keyed, 2, verdicts{absent}, 5 * time.Second, 60 * time.Second, "intend wait send ask@11s asked@11s", "waits"},
		"verify is asked, found":                 {host.Verify, 1, verdicts{found}, 0, 60 * time.Second, "intend wait send ask@11s asked@11s settle@11s", "applied, verified"},
		"verify, absent says nothing before":     {host.Verify, 1, verdicts{absent}, 0, 60 * time.Second, "intend wait send ask@11s asked@11s returns@1m0s ask@1m0s asked@1m0s ask@1m20.000000001s asked@1m20.000000001s retry@1m20.000000001s wait@1m20.000000001s send@1m20.000000001s settle@1m20.000000001s", "applied, status 0"},
		"verify, found after it has returned":    {host.Verify, 1, verdicts{absent, found}, 0, 60 * time.Second, "intend wait send ask@11s asked@11s returns@1m0s ask@1m0s asked@1m0s settle@1m0s", "applied, verified"},
		"verify comes back":                      {host.Verify, 1, verdicts{absent}, 5 * time.Second, 60 * time.Second, "intend wait send ask@11s asked@11s", "waits"},
		"once can be asked, absent":              {host.Once, 1, verdicts{absent}, 0, 60 * time.Second, "intend wait send ask@11s asked@11s returns@1m0s ask@1m0s asked@1m0s ask@1m20.000000001s asked@1m20.000000001s", "undecided"},
		"one that returns within the second":     {host.Keyed, 2, nil, 0, 10500 * time.Millisecond, "intend wait send returns@10.5s settle@10.5s", "applied, status 0"},
		"one that returns when nobody asks more": {host.Verify, 1, verdicts{silent}, 0, 60 * time.Second, "intend wait send ask@11s asked@11s ask@12s asked@12s ask@14s asked@14s", "undecided"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, row.tries), answers{applied, applied}, row.verdicts)
				s.call.Patience, s.call.Sends = row.patience, &host.Sends{}
				letGo := s.deaf()
				timer := time.AfterFunc(row.letGo, func() { close(letGo) })
				r, err := s.do(t.Context(), host.Past{})
				if got := result(r, err); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("\n got %s\nwant %s", got, row.diary)
				}
				if timer.Stop() {
					close(letGo)
				}
				var wait *host.WaitError
				if errors.As(err, &wait) && (!wait.Hanging || time.Until(wait.Until) < time.Second) {
					t.Errorf("%+v", wait)
				}
				<-s.call.Sends.Returned(s.call.Key)
			})
		})
	}
}

// Who was told that a send hangs learns of its return, and then goes on; what
// the receiver says is weighed by when that was, also in a later process.
//
// Seen red with the return forgotten between the entries, and with a send of an
// ended process taken for over at its deadline.
func TestAWaitForASendThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		restarted bool // by a process that ended the send with itself
		then      string
	}{
		"it returned meanwhile": {false, "ask@2m0s asked@2m0s ask@2m20.000000001s asked@2m20.000000001s retry@2m20.000000001s"},
		"its process ended":     {true, "ask@2m5s asked@2m5s ask@2m25.000000001s asked@2m25.000000001s retry@2m25.000000001s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(host.Verify, 1), answers{applied, applied}, verdicts{absent})
				s.call.Patience, s.call.Sends = 30*time.Second, &host.Sends{}
				letGo := s.deaf()
				_, err := s.do(t.Context(), host.Past{})
				var wait *host.WaitError
				if !errors.As(err, &wait) || !wait.Hanging || wait.Waited.Last.Code != "hanging" {
					t.Fatalf("got %v", err)
				}
				time.Sleep(time.Until(s.start.Add(2 * time.Minute)))
				select {
				case <-s.call.Sends.Returned(s.call.Key):
					t.Fatal("the send has returned")
				default:
				}
				close(letGo)
				<-s.call.Sends.Returned(s.call.Key)
				s.diary.clear()
				if row.restarted {
					time.Sleep(5 * time.Second)
					s.call.Sends = &host.Sends{}
				}
				r, err := s.do(t.Context(), s.ledger.past(wait))
				if got := s.String(); !strings.HasPrefix(got, row.then) || result(r, err) != "applied, status 0" {
					t.Errorf("%s:\n got %s\nwant %s ...", result(r, err), got, row.then)
				}
			})
		})
	}
}

// Two calls with one key, as business keys make them: one send at a time.
//
// Seen red with the key not claimed.
func TestOneLiveSendPerKey(t *testing.T) {
	t.Parallel()
	for _, class := range []host.Class{host.Once, host.Read, host.Keyed, host.Verify} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(shape(class, 1), answers{applied}, nil)
			live, most := 0, 0
			s.fake.onSend = func() {
				live++
				most = max(most, live)
				time.Sleep(3 * time.Second)
				live--
			}
			sends := &host.Sends{}
			done := make(chan error)
			for range 3 {
				go func() {
					call := &host.Call{Tool: "pay", Key: host.Key{7}, Sends: sends}
					_, err := host.Do(t.Context(), s.tool, &fakeLedger{diary: s.diary}, call, host.Past{})
					done <- err
				}()
			}
			for range 3 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if most != 1 || s.count("send") != 3 {
				t.Errorf("%s: %d sends at once, %d in all", class, most, s.count("send"))
			}
		})
	}
}

// Seen red with a claim that is kept when the record fails, and when it is not
// sent any more.
func TestAClaimIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*stage){
		"the record is refused":       func(s *stage) { s.ledger.intendErr = errLedger },
		"it does not become durable":  func(s *stage) { s.ledger.waitErr = errLedger },
		"it takes all the time":       func(s *stage) { s.ledger.slow = time.Minute },
		"the tool panics":             func(s *stage) { s.fake.answers = answers{panicking} },
		"the tool ends its goroutine": func(s *stage) { s.fake.onSend = runtime.Goexit },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(host.Once, 1), answers{applied}, nil)
				s.call.Sends = &host.Sends{}
				spoil(s)
				_, _ = s.do(t.Context(), host.Past{})
				select {
				case <-s.call.Sends.Returned(s.call.Key):
				default:
					t.Error("the key is taken")
				}
			})
		})
	}
}

// Seen red with the query waited for.
func TestAQueryThatDoesNotReturnIsNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		defer close(letGo)
		tool := host.Func("pay", func(context.Context, *host.Call, struct{}) (string, error) { return "", errors.New("broken") }, &host.FuncOptions{
			Contract: shape(host.Verify, 1),
			Verify: func(context.Context, *host.Call) (any, bool, error) {
				<-letGo
				return "late", true, nil
			},
		})
		d := &diary{start: time.Now()}
		r, err := host.Do(t.Context(), tool, &fakeLedger{diary: d}, jsonCall(`{}`), host.Past{})
		if got, want := d.String(), "intend wait asked@11s asked@23s asked@36s"; got != want || result(r, err) != "undecided" {
			t.Errorf("%s: got %s, want %s", result(r, err), got, want)
		}
	})
}

// What is in flight outlives the end of ctx until its deadline or the cut.
//
// Seen red with the end of ctx passed on, with the cut passed over, and with what
// is known after the cut dropped.
func TestCut(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		answers       answers
		verdicts      verdicts
		past          func() host.Past
		end, cut      time.Duration
		diary, result string
	}{
		"a send outlives the end":        {answers{hanging}, nil, nil, time.Second, time.Hour, "intend wait send", "context canceled"},
		"a send is cut off":              {answers{{Outcome: host.OutcomeApplied, Code: hangs}}, nil, nil, time.Second, 4 * time.Second, "intend wait send settle@4s", "applied, status 0"},
		"a send is cut off before it":    {answers{{Outcome: host.OutcomeApplied, Code: hangs}}, nil, nil, 5 * time.Second, 4 * time.Second, "intend wait send settle@4s", "applied, status 0"},
		"a query is cut off":             {nil, verdicts{{Kind: host.Found, Code: hangs}}, interrupted, time.Second, 4 * time.Second, "ask asked@4s settle@4s", "applied, verified"},
		"nothing is begun after the end": {answers{unclear}, verdicts{found}, nil, -1, time.Hour, "", "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if row.end < 0 {
					cancel()
				}
				cut := make(chan struct{})
				end := time.AfterFunc(row.end, cancel)
				cutting := time.AfterFunc(row.cut, func() { close(cut) })
				defer end.Stop()
				defer cutting.Stop()
				s := newStage(shape(host.Once, 1), row.answers, row.verdicts)
				s.call.Cut = cut
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

// A tool that was left behind announces nothing any more, and shares nothing
// with the call.
//
// Seen red with the call itself given to the tool, and with a late announcement
// passed on.
func TestWhatWasLeftBehindIsNotHeard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letGo := make(chan struct{})
		tool := host.Func("pay", func(_ context.Context, c *host.Call, _ struct{}) (string, error) {
			<-letGo
			c.Sent()
			c.Try = 99
			return "", nil
		}, &host.FuncOptions{Contract: shape(host.Once, 1)})
		call, told := jsonCall(`{}`), 0
		call.Sends, call.Sent = &host.Sends{}, func() { told++ }
		_, err := host.Do(t.Context(), tool, &fakeLedger{diary: &diary{start: time.Now()}}, call, host.Past{})
		close(letGo)
		<-call.Sends.Returned(call.Key)
		if told != 1 || call.Try != 1 || !strings.Contains(err.Error(), "not returned") {
			t.Errorf("told %d times, try %d, %v", told, call.Try, err)
		}
	})
}

// BenchmarkSend compares the protocol around a tool that does nothing with a
// goroutine that is started and waited for: what leaving a tool behind costs.
func BenchmarkSend(b *testing.B) {
	b.Run("Do", func(b *testing.B) {
		tool := host.Func("look", func(context.Context, *host.Call, []byte) ([]byte, error) { return nil, nil }, &host.FuncOptions{Contract: host.Contract{Effect: host.Read}})
		sends := &host.Sends{}
		for b.Loop() {
			call := &host.Call{Tool: "look", Type: "bytes", Sends: sends}
			if _, err := host.Do(b.Context(), tool, silentLedger{}, call, host.Past{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("goroutine", func(b *testing.B) {
		for b.Loop() {
			c := make(chan host.Answer, 1)
			go func() { c <- host.Answer{} }()
			<-c
		}
	})
}

type silentLedger struct{}

func (silentLedger) Intend(context.Context, host.Intent) (host.Barrier, error) { return nil, nil }
func (silentLedger) Retry(context.Context, host.Retry) (host.Barrier, error)   { return nil, nil }
func (silentLedger) Asked(context.Context, host.Answer, host.Verdict)          {}
func (silentLedger) Settle(context.Context, host.Receipt) error                { return nil }
