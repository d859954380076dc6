package host_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// A step that opted in is told what would go to a person; nothing else changes.
//
// Seen red with the opting in passed over, with unknown told before it was asked
// about, and with a receipt that names another status.
func TestSeeUnknown(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class    host.Class
		answers  answers
		verdicts verdicts
		past     func() host.Past
		diary    string
		unknown  bool
	}{
		"once, unknown":                 {host.Once, answers{unclear}, nil, nil, "intend wait send settle", true},
		"once, interrupted":             {host.Once, answers{unclear}, nil, interrupted, "settle", true},
		"keyed, the key forgotten":      {host.Keyed, answers{unclear}, nil, longAgo, "settle", true},
		"keyed is repeated first":       {host.Keyed, answers{unclear, applied}, nil, nil, "intend wait send retry@1s wait@1s send@1s settle@1s", false},
		"verify is asked first, found":  {host.Verify, answers{unclear}, verdicts{found}, nil, "intend wait send ask asked settle", false},
		"verify is asked first, silent": {host.Verify, answers{unclear}, verdicts{silent}, nil, "intend wait send ask asked ask@1s asked@1s ask@3s asked@3s settle@3s", true},
		"rejected":                      {host.Once, answers{rejected}, nil, nil, "intend wait send settle", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(shape(row.class, 2), row.answers, row.verdicts)
				s.call.SeeUnknown = true
				var past host.Past
				if row.past != nil {
					past = row.past()
				}
				r, err := s.do(t.Context(), past)
				if err != nil {
					t.Fatal(err)
				}
				if got := s.String(); got != row.diary {
					t.Errorf("got %s, want %s", got, row.diary)
				}
				if (r.Status == abi.Unknown) != row.unknown || (r.Outcome == host.OutcomeUnknown) != row.unknown {
					t.Errorf("%+v", r)
				}
				if row.unknown && (r.Code != "outcome_unknown" || r.Message == "" || !r.At.Equal(time.Now()) || s.ledger.receipt.Status != abi.Unknown) {
					t.Errorf("%+v, settled %+v", r, s.ledger.receipt)
				}
			})
		})
	}
}

// A wait, a stop and a ledger's error are not the end of the asking.
//
// Seen red with every error taken for an unknown outcome.
func TestSeeUnknownIsOnlyForWhatAPersonWouldDecide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(shape(host.Keyed, 2), answers{unclear}, nil)
		s.call.SeeUnknown, s.call.Patience = true, time.Second/2
		if got := result(s.do(t.Context(), host.Past{})); got != "waits" {
			t.Errorf("came to %q", got)
		}
		s = newStage(shape(host.Keyed, 2), answers{unclear}, nil)
		s.call.SeeUnknown, s.ledger.retryErr = true, errLedger
		if got := result(s.do(t.Context(), host.Past{})); got != errLedger.Error() {
			t.Errorf("came to %q", got)
		}
	})
}
