package runtime_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// An effect that may have happened is not left behind because other code ends
// before it comes to it.
//
// Seen red with effects alone looked for that are known to have happened.
func TestUpgradeThatEndsBeforeAnUnknownEffect(t *testing.T) {
	t.Parallel()
	var once, flaky counter
	tools := []host.Tool{downOnce(&flaky, host.Contract{Effect: host.Read, Tries: 1}), once.tool("once", host.Contract{}, func(int64, *host.Call) (any, error) { panic("lost") })}
	step := "tools = [\"flaky\", \"once\"]\nretry = { attempts = 3, backoff = \"1h\", max_backoff = \"1h\" }"
	b := setup(t, tools...)
	r := b.start(b.deploy(folder(t, "", step)), "r1",
		`{"one":[{"call":"flaky","ignore":true},{"call":"once","unknown":true,"ignore":true},{"error":"x"}],"mended":[]}`)
	b.waits(r, "timer")
	b.opts.NoRecovery = true // nobody waits for its timer
	b.reopen()
	newer := folder(t, "", step)
	newer["workflow.toml"] = &fstest.MapFile{Data: []byte(strings.Replace(string(newer["workflow.toml"].Data), "input.one", "input.mended", 1))}
	if err := b.find("r1").Upgrade(t.Context(), b.deploy(newer)); err != nil {
		t.Fatal(err)
	}
	c := b.resume("r1")
	if c.State != pawl.StateNeedsDecision || c.Reasons[0].Code != "diverged" || once.sent.Load() != 1 {
		t.Errorf("state %s: %+v, sent %d times", c.State, c.Reasons, once.sent.Load())
	}
}
