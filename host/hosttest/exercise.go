package hosttest

import (
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// Options help to check more. Nil and zero values work; what could not be
// checked without a field is logged.
type Options struct {
	// Type of the requests. Defaults to abi.TypeJSON.
	Type string
	// ByNature says that a request is harmless to repeat by itself (PUT, DELETE
	// by id), and not because the receiver knows keys: another key is then no
	// other effect. Defaults to false.
	ByNature bool
	// Refused makes a request that the receiver refuses for good. Defaults to
	// nil: refusals are not checked.
	Refused func() []byte
	// Lose has the receiver apply the next sending and lose the answer. Defaults
	// to nil: lost answers are not checked.
	Lose func()
	// Drop has the receiver neither apply nor answer the next sending. Defaults
	// to nil: lost requests are not checked.
	Drop func()
	// Hang has the receiver hold the next sending without an answer until release
	// is called; whether it is applied then is its own affair. Defaults to nil:
	// whether a sending is left when its context ends is not checked.
	Hang func() (release func())
	// Secrets must not be in anything that the tool gives out. Defaults to none.
	Secrets []string
	// Patience is how long anything may take. Defaults to 10 s.
	Patience time.Duration
}

// Exercise runs the suite. request makes the n-th request, each other than all
// before; effects counts what the receiver has applied so far, in its own books.
// Nobody else may use the receiver meanwhile. It reports with t.Errorf what the
// tool promises and does not keep. Run it with the race detector too: the tool
// is used concurrently.
func Exercise(t testing.TB, tool host.Tool, request func(n int) []byte, effects func() int, opts *Options) {
	t.Helper()
	b := &bench{TB: t, tool: tool, request: request, effects: effects, id: tool.ID()}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.Type == "" {
		b.opts.Type = abi.TypeJSON
	}
	if b.opts.Patience == 0 {
		b.opts.Patience = 10 * time.Second
	}
	if _, err := host.NewRegistry(tool); err != nil {
		t.Errorf("contract: %v", err)
		return
	}
	b.contract = tool.Contract().WithDefaults()
	rules := append([]rule(nil), common...)
	rules = append(rules, byClass[b.contract.Effect]...)
	if _, ok := tool.(host.Verifier); ok {
		rules = append(rules, asked...)
	}
	for _, r := range rules {
		b.rule = r.name
		r.check(b)
	}
	b.rule = "contract"
	if now := tool.Contract(); now.Digest() != b.contract.Digest() || tool.ID() != b.id {
		b.fail("the contract or the id has changed while the tool was used")
	}
}

// rule is one sentence of what tools promise, with its check.
type rule struct {
	name  string
	check func(*bench)
}
