package runtime

import (
	"fmt"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/runtime/internal/journal"
)

// One run at a time tries a paused tool, at times that are ever further apart,
// and a person's try does not move them apart.
//
// Seen red with all runs trying, with a constant pause, without the bound, with
// a person's try that doubles the pause, and with a try that is never yielded.
func TestPausesOfATool(t *testing.T) {
	t.Parallel()
	start := time.Unix(1e9, 0)
	var p pauses
	now := start
	admit := func(run string, asked bool) string {
		due, _, ok := p.admit("pay", run, asked, now)
		if ok {
			return "goes"
		}
		return fmt.Sprint(due.Sub(now))
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("at %s, %s: %s, want %s", now.Sub(start), what, got, want)
		}
	}
	refused := func(run string, asked bool) string {
		due, how := p.refused("pay", run, "http_401", asked, now, now.Add(time.Second))
		return fmt.Sprintf("%s, %d since %d", due.Sub(now), how.Times, how.Since/1e6-start.Unix())
	}
	expect("nothing is paused", admit("a", false), "goes")
	expect("a is refused", refused("a", false), "1m0s, 1 since 0")
	now = now.Add(10 * time.Second)
	expect("b was in flight too", refused("b", false), "1m0s, 1 since 0")
	expect("b comes back", admit("b", false), "1m0s")
	expect("a person wants c", admit("c", true), "goes")
	expect("c is refused", refused("c", true), "1m0s, 1 since 0")
	now = now.Add(time.Minute)
	expect("b tries", admit("b", false), "goes")
	expect("b still tries", admit("b", false), "goes")
	expect("a waits for b", admit("a", false), "1m0s")
	expect("another tool", fmt.Sprint(p.paused("mail")), "false")
	expect("b is refused", refused("b", false), "2m0s, 2 since 0")
	now = now.Add(2 * time.Minute)
	expect("a tries", admit("a", false), "goes")
	p.yield("a")
	for _, want := range []string{"4m0s, 3 since 0", "8m0s, 4 since 0", "15m0s, 5 since 0", "15m0s, 6 since 0"} {
		expect("b tries", admit("b", false), "goes")
		expect("b is refused", refused("b", false), want)
		now = now.Add(15 * time.Minute)
	}
	if !p.lift("pay") || p.lift("pay") {
		t.Error("the pause was not lifted once")
	}
	expect("nothing is paused", admit("a", false), "goes")
	p.restore("pay", journal.Pause{Since: now.UnixMicro(), Times: 2}, now.Add(time.Minute))
	p.restore("pay", journal.Pause{Since: now.UnixMicro(), Times: 1}, now.Add(time.Hour))
	expect("restored", admit("a", false), "1m0s")
}
