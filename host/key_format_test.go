package host_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/pawl-dev/pawl/host"
)

// Who looks for a key at the receiver's finds it as the receiver was given it.
// Seen red with the 26 characters in every help.
func TestHelpNamesTheKeyAsTheReceiverKnowsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		contract := shape(host.Once, 1)
		contract.KeyFormat = host.KeyFormatUUID
		s := newStage(contract, answers{unclear}, nil)
		_, err := s.do(t.Context(), host.Past{})
		var undecided *host.UndecidedError
		if !errors.As(err, &undecided) {
			t.Fatalf("got %v", err)
		}
		if want := "Look for 01000000-0000-0000-0000-000000000000."; undecided.Help != want {
			t.Errorf("help %q, want %q", undecided.Help, want)
		}
	})
}
