package runtime

import (
	"context"
	"testing"
	"time"
)

// What is in flight keeps its own time limit, does not hear of the engine's
// stopping, and hears of the end of the grace.
//
// Seen red with a time limit that is lost, with the stopping passed on, and
// with a grace that never ends.
func TestShieldOfWhatIsInFlight(t *testing.T) {
	t.Parallel()
	for _, limited := range []bool{false, true} {
		killing, kill := context.WithCancel(context.Background())
		stopping, stop := context.WithCancel(context.Background())
		want := time.Now().Add(time.Hour)
		if limited {
			var done context.CancelFunc
			stopping, done = context.WithDeadline(stopping, want)
			defer done()
		}
		ctx, cancel := gracefulTool{killing: killing}.shield(stopping)
		defer cancel()
		if got, ok := ctx.Deadline(); ok != limited || (ok && !got.Equal(want)) {
			t.Errorf("limited %v: until %s, %v", limited, got, ok)
		}
		if stop(); ctx.Err() != nil {
			t.Errorf("limited %v: %v", limited, ctx.Err())
		}
		kill()
		<-ctx.Done()
	}
}
