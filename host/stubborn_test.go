package host_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
)

// A keyed call whose last sending lives on cannot be sent again, and its
// receiver does not know it yet: it is waited for, not asked without a pause.
//
// Seen red with the wait counted from a deadline that is long over.
func TestALastSendingThatDoesNotReturnIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		many := verdicts{}
		for range 50 {
			many = append(many, absent)
		}
		s := newStage(shape(host.Keyed, 1), answers{unclear, applied}, append(many, found))
		s.call.Sends = &host.Sends{}
		letGo := make(chan struct{})
		s.fake.onSend = func() {
			if s.fake.sent == 1 { // the one that an absent has granted
				<-letGo
				s.note(nil, "returns")
			}
		}
		timer := time.AfterFunc(40*time.Second, func() { close(letGo) })
		r, err := s.do(t.Context(), host.Past{})
		if timer.Stop() {
			close(letGo)
		}
		want := "intend wait send ask asked retry@1s wait@1s send@1s ask@12s asked@12s returns@40s ask@40s asked@40s ask@1m0.000000001s asked@1m0.000000001s settle@1m0.000000001s"
		if got := s.String(); got != want || result(r, err) != "not_applied, status 4" {
			t.Errorf("%s:\n got %s\nwant %s", result(r, err), got, want)
		}
		<-s.call.Sends.Returned(s.call.Key)
	})
}
