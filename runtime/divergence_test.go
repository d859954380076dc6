package runtime_test

import (
	"errors"
	"testing"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

func TestNotReadyYetReadsAgain(t *testing.T) {
	t.Parallel()
	var keyed, read counter
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		read.tool("read", host.Contract{Effect: host.Read}, nil))
	w := b.deploy(folder(t, "", "tools = [\"read\", \"keyed\"]\nretry = { attempts = 2, backoff = \"1ms\", max_backoff = \"1ms\" }"))
	r := b.start(w, "r1", `{"one":[{"call":"read"},{"call":"keyed"},{"call":"read","request":{"again":1}},{"not_yet":"still open"}]}`)
	c := b.rest(r)
	if c.State != pawl.StateFailed || c.Step("one").Attempts != 2 {
		t.Fatalf("state %s, %d attempts", c.State, c.Step("one").Attempts)
	}
	if keyed.sent.Load() != 1 || read.sent.Load() != 3 {
		t.Errorf("keyed sent %d times, read %d", keyed.sent.Load(), read.sent.Load())
	}
}

// What a step sees of chance is the same in every execution of its attempt,
// and different in another run.
func TestChanceIsTheSameInAReplay(t *testing.T) {
	t.Parallel()
	var keyed, flaky counter
	b := setup(t,
		keyed.tool("keyed", host.Contract{Effect: host.Keyed}, nil),
		flaky.tool("flaky", host.Contract{Effect: host.Read}, func(n int64, _ *host.Call) (any, error) {
			if n%3 != 0 {
				return nil, errors.New("no")
			}
			return nil, nil
		}))
	w := b.deploy(folder(t, "", "tools = [\"flaky\", \"keyed\"]\nretry = { attempts = 5, backoff = \"1ms\" }"))
	const input = `{"one":[{"chance":"keyed"},{"call":"flaky"}]}`
	first := b.rest(b.start(w, "r1", input))
	if first.State != pawl.StateCompleted || first.Step("one").Attempts != 3 || keyed.sent.Load() != 1 {
		t.Fatalf("state %s %+v, sent %d times", first.State, first.Reasons, keyed.sent.Load())
	}
	second := b.rest(b.start(w, "r2", input))
	if first.Step("one").Calls[0].RequestHash == second.Step("one").Calls[0].RequestHash {
		t.Error("two runs were given the same chance")
	}
}
