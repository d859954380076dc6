package host_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
)

const (
	eu = "https://pay.example (acme-eu)"
	us = "https://pay.example (acme-us)"
)

// A call whose last try went to the books in Europe is gone on with by a tool
// that speaks with those in America.
//
// Seen red with an absent of the wrong receiver believed, with the key repeated
// there, with a found passed over, and with the receiver left out of the records.
func TestAnotherReceiver(t *testing.T) {
	t.Parallel()
	sentTo := func(receiver string, waited *host.Waited) func() host.Past {
		return func() host.Past {
			p := longAgo()
			p.First, p.Last = time.Now().Add(-50*time.Second), time.Now().Add(-50*time.Second)
			p.Receiver, p.Waited = receiver, waited
			return p
		}
	}
	unapplied := &host.Waited{Sent: 1, Unapplied: true, Last: refused}
	for name, row := range map[string]struct {
		class    host.Class
		verdicts verdicts
		past     func() host.Past
		diary    string
		result   string
	}{
		"keyed is not repeated there":                  {host.Keyed, nil, sentTo(us, nil), "", "undecided"},
		"keyed, absent there":                          {host.Keyed, verdicts{absent}, sentTo(us, nil), "ask asked", "undecided"},
		"keyed, no answer there":                       {host.Keyed, verdicts{silent}, sentTo(us, nil), "ask asked ask@1s asked@1s ask@3s asked@3s", "undecided"},
		"keyed, found there: the books have moved":     {host.Keyed, verdicts{found}, sentTo(us, nil), "ask asked settle", "applied, verified"},
		"verify, absent there":                         {host.Verify, verdicts{absent}, sentTo(us, nil), "ask asked", "undecided"},
		"verify, found there":                          {host.Verify, verdicts{found}, sentTo(us, nil), "ask asked settle", "applied, verified"},
		"once, absent there":                           {host.Once, verdicts{absent}, sentTo(us, nil), "ask asked", "undecided"},
		"a read is repeated there":                     {host.Read, nil, sentTo(us, nil), "retry send settle", "applied, status 0"},
		"the same receiver":                            {host.Keyed, nil, sentTo(eu, nil), "retry wait send settle", "applied, status 0"},
		"it is not known who it was":                   {host.Keyed, nil, sentTo("", nil), "retry wait send settle", "applied, status 0"},
		"known not to be applied, it may go elsewhere": {host.Once, nil, sentTo(us, unapplied), "retry wait send settle", "applied, status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, 2), answers{applied}, row.verdicts)
				s.receivedBy(eu)
				_, err := s.do(t.Context(), row.past())
				if got := result(s.ledger.receipt, err); got != row.result {
					t.Errorf("came to %q, want %q", got, row.result)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("got %s, want %s", got, row.diary)
				}
				if errors.Is(err, host.ErrOutcomeUnknown) && (!strings.Contains(err.Error(), eu) || !strings.Contains(err.Error(), us)) {
					t.Errorf("does not name both: %v", err)
				}
				if p := s.ledger.past(nil); p.Tries > 0 && p.Receiver != eu {
					t.Errorf("recorded as sent to %q", p.Receiver)
				}
			})
		})
	}
}

// Seen red with the receiver left out of the intent.
func TestTheIntentNamesTheReceiver(t *testing.T) {
	t.Parallel()
	for want, set := range map[string]func(*stage){
		"":   func(*stage) {},
		eu:   func(s *stage) { s.receivedBy(eu) },
		"!?": func(s *stage) { s.receivedBy("!?") },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(shape(host.Once, 1), answers{applied}, nil)
			set(s)
			if _, err := s.do(t.Context(), host.Past{}); err != nil || s.ledger.intents[0].Receiver != want {
				t.Errorf("%v, %q, want %q", err, s.ledger.intents[0].Receiver, want)
			}
		})
	}
}

type panickingReceiver struct{ *fakeTool }

func (panickingReceiver) Receiver() string { panic("a bug of the tool") }

// Who cannot say who receives the call may speak with anybody.
//
// Seen red with the panic let through, and with no name taken for any.
func TestAReceiverThatIsNotToldIsAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Keyed, 2), answers{applied}, nil)
		s.tool = panickingReceiver{s.fake}
		past := interrupted()
		past.Receiver = eu
		if got := result(s.do(t.Context(), past)); got != "undecided" || s.String() != "" {
			t.Errorf("came to %q: %s", got, s)
		}
	})
}
