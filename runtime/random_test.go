package runtime_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// What a guest draws depends on the store's secret, the run, the step and the
// call, and on nothing else: it is the same in the next attempt, which would
// diverge otherwise.
//
// Seen red without the secret, the run, the step or the call, and with the
// attempt. (For the keys of calls: without the store.)
func TestRandomNumbersOfRuns(t *testing.T) {
	long(t)
	t.Parallel()
	var mu sync.Mutex
	var flaky counter            // of both stores
	drawn := map[string]string{} // request -> where
	for _, store := range []string{"one store", "another store"} {
		var keyed counter
		b := setup(t,
			keyed.tool("keyed", host.Contract{Effect: host.Keyed}, func(_ int64, c *host.Call) (any, error) {
				mu.Lock()
				defer mu.Unlock()
				at := store + ", " + c.Run + ", " + c.Step
				if was := drawn[string(c.Body)]; was != "" {
					t.Errorf("drawn in %s and in %s", was, at)
				}
				drawn[string(c.Body)] = at
				return "", nil
			}),
			flaky.tool("flaky", host.Contract{Effect: host.Read}, func(n int64, _ *host.Call) (any, error) {
				if n%2 == 1 {
					return nil, errors.New("no")
				}
				return "", nil
			}))
		step := "tools = [\"keyed\", \"flaky\"]\nretry = { attempts = 2, backoff = \"1ms\" }"
		f := b.forger(b.deploy(folder(t, "", step, step)))
		const draw = `[{"entropy":"keyed"},{"entropy":"keyed"},{"call":"flaky"},{"entropy":"keyed"}]`
		for i, id := range []string{"r1", "r2"} { // the same runs in both stores
			f.begin(i, id, `{"one":`+draw+`,"two":`+draw+`}`, nil, nil)
			c := b.resume(id)
			if c.State != pawl.StateCompleted || c.Step("two").Attempts != 2 {
				t.Errorf("state %s: %+v", c.State, c.Reasons)
			}
		}
		if keyed.sent.Load() != 12 {
			t.Errorf("sent %d times", keyed.sent.Load())
		}
	}
	if n := flaky.distinctKeys(); n != 8 { // the same call in two stores, runs and steps
		t.Errorf("%d different keys", n)
	}
}
