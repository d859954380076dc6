package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// A keyed payment is applied, its answer lost, and the program down for longer
// than the receiver remembers keys: it is not repeated, but looked up, or left to
// a person. Within that time it is repeated, under the same key.
//
// Seen red with the window passed over, with no repetition within it, and with
// a key that is made anew when the call is found open.
func TestPaymentWhoseKeyTheReceiverMayHaveForgotten(t *testing.T) {
	t.Parallel()
	found := func(context.Context, *host.Call) (any, bool, error) { return []byte("paid"), true, nil }
	absent := func(context.Context, *host.Call) (any, bool, error) { return nil, false, nil }
	silent := func(context.Context, *host.Call) (any, bool, error) { return nil, false, errors.New("no answer") }
	for _, row := range []struct {
		name   string
		down   time.Duration
		verify func(context.Context, *host.Call) (any, bool, error)
		sent   int64
		says   string // what a person is told; "" if the run completes
	}{
		{"three days, and it knows of the payment", 72 * time.Hour, found, 1, ""},
		{"three days, and it knows of none", 72 * time.Hour, absent, 1, "does not know the key, but may have forgotten it"},
		{"three days, and it does not say", 72 * time.Hour, silent, 1, "does not say"},
		{"three days, and it cannot be asked", 72 * time.Hour, nil, 1, "may have forgotten the key, and it cannot be asked"},
		{"twenty hours, and it cannot be asked", 20 * time.Hour, nil, 2, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var pay counter
				w := newLives(t, host.Func("keyed", func(_ context.Context, c *host.Call, _ []byte) ([]byte, error) {
					pay.sent.Add(1)
					pay.keys.Store(c.Key.String(), true)
					return []byte("paid"), nil
				}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}, Verify: row.verify}))
				w.live(at(pawl.Answered), func(e *pawl.Engine) {
					workflow, err := e.Deploy(t.Context(), rawFolder("keyed", 1))
					if err != nil {
						t.Fatal(err)
					}
					r, err := pawl.Start(t.Context(), workflow, "r1", raw(`{}`), nil)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := r.Wait(t.Context(), 0); err == nil {
						t.Error("the power was not cut")
					}
				})
				time.Sleep(row.down)
				w.live(nil, func(e *pawl.Engine) {
					r, err := e.Find("r1")
					if err == nil {
						err = r.Resume()
					}
					if err != nil {
						t.Fatal(err)
					}
					c, err := r.Wait(t.Context(), 0)
					if err != nil {
						t.Fatal(err)
					}
					if row.says == "" {
						completed(t, c)
					} else if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "unknown" || !strings.Contains(c.Reasons[0].Sentence, row.says) {
						t.Errorf("state %s: %+v", c.State, c.Reasons)
					}
				})
				if pay.sent.Load() != row.sent || pay.distinctKeys() != 1 {
					t.Errorf("sent %d times with %d keys", pay.sent.Load(), pay.distinctKeys())
				}
			})
		})
	}
}
