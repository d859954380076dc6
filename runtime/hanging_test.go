package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// bubble runs f with an engine whose time is a test's.
func bubble(t *testing.T, tools []host.Tool, f func(t *testing.T, e *pawl.Engine)) {
	t.Helper()
	if _, err := script(); err != nil { // a process, which a bubble cannot wait for
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		newLives(t, tools...).live(nil, func(e *pawl.Engine) { f(t, e) })
	})
}

// begin starts a run of the workflow of one step.
func begin(t *testing.T, e *pawl.Engine, head, step, id, program string) *pawl.Run {
	t.Helper()
	w, err := e.Deploy(t.Context(), folder(t, head, step))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pawl.Start(t.Context(), w, id, raw(`{"one":[`+program+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rests waits until the run rests for longer than that.
func rests(t *testing.T, r *pawl.Run, longest time.Duration, state pawl.RunState, code string) *pawl.Checkpoint {
	t.Helper()
	c, err := r.Wait(t.Context(), longest)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != state || code != "" && (len(c.Reasons) != 1 || c.Reasons[0].Code != code) {
		t.Fatalf("state %s: %+v, last error %+v, want %s %s", c.State, c.Reasons, c.LastError, state, code)
	}
	return c
}

// A read hangs in a tool that does not return, and the next attempt makes it
// again: that waits for the first to return, and no longer.
//
// Seen red with a wait that speaks of an open call, and with a return that wakes
// nobody.
func TestCallThatWaitsForAHangingOneBeforeItsIntent(t *testing.T) {
	t.Parallel()
	var letGo chan struct{}
	var read counter
	tool := host.Func("read", func(context.Context, *host.Call, any) (any, error) {
		n := read.sent.Add(1)
		if n == 1 {
			<-letGo
		}
		return n, nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Read, Tries: 1, Timeout: time.Second, MaxBackoff: time.Hour}})
	if _, err := script(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		letGo = make(chan struct{})
		newLives(t, tool).live(nil, func(e *pawl.Engine) {
			r := begin(t, e, "", "tools = [\"read\"]\nretry = { attempts = 3, backoff = \"1ms\" }", "r1", `{"call":"read"}`)
			rests(t, r, time.Minute, pawl.StateWaiting, "hanging")
			now := time.Now()
			close(letGo)
			rests(t, r, 1<<62, pawl.StateCompleted, "")
			if took := time.Since(now); took > time.Minute || read.sent.Load() != 2 {
				t.Errorf("went on after %s, sent %d times", took, read.sent.Load())
			}
		})
	})
}

// What a call waits for may never come: the run is parked at its deadline all
// the same.
//
// Seen not to end with a deadline that is not looked at when a wait is due.
func TestDeadlineEndsEveryWait(t *testing.T) {
	t.Parallel()
	const head = `deadline = "1h"`
	t.Run("for a business key", func(t *testing.T) {
		t.Parallel()
		lost := host.Func("once", func(context.Context, *host.Call, any) (any, error) { panic("lost") }, nil)
		bubble(t, []host.Tool{lost}, func(t *testing.T, e *pawl.Engine) {
			const call = `{"call":"once","key":"k"}`
			rests(t, begin(t, e, "", `tools = ["once"]`, "r1", call), 0, pawl.StateNeedsDecision, "unknown")
			r := begin(t, e, head, `tools = ["once"]`, "r2", call)
			rests(t, r, 0, pawl.StateWaiting, "key")
			overdue(t, r)
		})
	})
	t.Run("for credentials", func(t *testing.T) {
		t.Parallel()
		pay := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed}}
		pay.f = func(int64, *host.Call) host.Answer { return refusedCredentials }
		bubble(t, []host.Tool{pay}, func(t *testing.T, e *pawl.Engine) {
			for _, id := range []string{"r1", "r2"} {
				rests(t, begin(t, e, head, `tools = ["keyed"]`, id, `{"call":"keyed"}`), 0, pawl.StateWaiting, "tool_paused")
			}
			for _, id := range []string{"r1", "r2"} {
				r, err := e.Find(id)
				if err != nil {
					t.Fatal(err)
				}
				overdue(t, r)
			}
		})
	})
}

// A run waits for what does not come, and looks after it again and again: who
// waits for the run, and not for so long, is told that it rests.
//
// Seen red for the key with the time of the first look taken for that of the next.
func TestARunThatLooksAgainAndAgainRests(t *testing.T) {
	t.Parallel()
	t.Run("for a business key", func(t *testing.T) {
		t.Parallel()
		lost := host.Func("once", func(context.Context, *host.Call, any) (any, error) { panic("lost") }, nil)
		bubble(t, []host.Tool{lost}, func(t *testing.T, e *pawl.Engine) {
			const call = `{"call":"once","key":"k"}`
			rests(t, begin(t, e, "", `tools = ["once"]`, "r1", call), 0, pawl.StateNeedsDecision, "unknown")
			looks(t, begin(t, e, "", `tools = ["once"]`, "r2", call), "key")
		})
	})
	t.Run("for credentials", func(t *testing.T) {
		t.Parallel()
		pay := &plain{id: "keyed", contract: host.Contract{Effect: host.Keyed}}
		pay.f = func(int64, *host.Call) host.Answer { return refusedCredentials }
		bubble(t, []host.Tool{pay}, func(t *testing.T, e *pawl.Engine) {
			begin(t, e, "", `tools = ["keyed"]`, "r1", `{"call":"keyed"}`)
			looks(t, begin(t, e, "", `tools = ["keyed"]`, "r2", `{"call":"keyed"}`), "tool_paused")
		})
	})
}

// looks waits for a run that waits for longer than a second, at any time.
func looks(t *testing.T, r *pawl.Run, code string) {
	t.Helper()
	for _, past := range []time.Duration{0, 5 * time.Minute, 24 * time.Hour} {
		time.Sleep(past)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		c, err := r.Wait(ctx, time.Second)
		cancel()
		if err != nil || c.State != pawl.StateWaiting || c.Reasons[0].Code != code {
			t.Fatalf("after %s: %v, %+v", past, err, c)
		}
	}
}

// overdue waits until the run's deadline of an hour is over.
func overdue(t *testing.T, r *pawl.Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 61*time.Minute)
	defer cancel()
	c, err := r.Wait(ctx, 1<<62)
	if err != nil {
		t.Fatal(err)
	}
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "deadline" {
		t.Errorf("state %s: %+v", c.State, c.Reasons)
	}
}
