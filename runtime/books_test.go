package runtime_test

import (
	"context"
	"sync"

	"github.com/pawl-dev/pawl/host"
)

// books are those of receivers that do not honour keys: what they are sent
// happens, and is written down for good.
type books struct {
	mu      sync.Mutex
	entries map[string]map[string]*bookEntry // by run and key

	calls  int // until the power is cut, if cut is set
	before bool
	cut    func()
}

// bookEntry is what was sent with a key.
type bookEntry struct {
	key, tool string
	n         int // of the request
	applied   int
	// closed says that a durable receipt was seen, atClose how often the effect
	// had happened by then.
	closed  bool
	atClose int
}

func newBooks() *books { return &books{entries: map[string]map[string]*bookEntry{}} }

// entry returns a copy of what was sent with a key.
func (b *books) entry(run, key string) bookEntry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[run][key]; e != nil {
		return *e
	}
	return bookEntry{}
}

// runs are those for which something was sent.
func (b *books) runs() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id := range b.entries {
		ids = append(ids, id)
	}
	return ids
}

// of are the entries of a run.
func (b *books) of(run string) (all []bookEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.entries[run] {
		all = append(all, *e)
	}
	return all
}

// close takes note that the receipt of a call is durable.
func (b *books) close(run, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e := b.entries[run][key]; e != nil && !e.closed {
		e.closed, e.atClose = true, e.applied
	}
}

// cutAt calls cut at the nth call from now, before or after it is written down;
// n = 0 never does.
func (b *books) cutAt(n int, before bool, cut func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.before, b.cut = n, before, cut
}

// write writes a call down.
func (b *books) write(c *host.Call, n int) {
	b.mu.Lock()
	b.calls--
	cut, before := b.cut, b.before
	if b.calls != 0 || cut == nil {
		cut = func() {}
	}
	b.mu.Unlock()
	if before {
		cut()
	}
	b.mu.Lock()
	entries := b.entries[c.Run]
	if entries == nil {
		entries = map[string]*bookEntry{}
		b.entries[c.Run] = entries
	}
	e := entries[c.Key.String()]
	if e == nil {
		e = &bookEntry{key: c.Key.String(), tool: c.Tool, n: n}
		entries[e.key] = e
	}
	e.applied++
	b.mu.Unlock()
	if !before {
		cut()
	}
}

// tools are one of each class.
func (b *books) tools() []host.Tool {
	var tools []host.Tool
	for name, contract := range map[string]host.Contract{
		"read":    {Effect: host.Read},
		"keyed":   {Effect: host.Keyed},
		"asked":   {Effect: host.Verify},
		"once":    {Effect: host.Once},
		"charged": {Effect: host.Read, Units: []string{"tokens"}},
	} {
		opts := &host.FuncOptions{
			Contract: contract,
			Units:    func(any) map[string]int64 { return map[string]int64{"tokens": 3} },
		}
		if contract.Effect == host.Verify {
			opts.Verify = func(_ context.Context, c *host.Call) (any, bool, error) {
				e := b.entry(c.Run, c.Key.String())
				return answerTo(e.n), e.applied > 0, nil
			}
		}
		tools = append(tools, host.Func(name, func(_ context.Context, c *host.Call, req map[string]int) (any, error) {
			b.write(c, req["n"])
			return answerTo(req["n"]), nil
		}, opts))
	}
	return tools
}
