package power_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/host"
)

const (
	price   = 3 // tokens of a paid call
	triesOf = 2 // of every tool

	timeout   = 20 * time.Second
	settle    = 30 * time.Second
	keyWindow = time.Hour
)

// kind is what is known of a tool.
type kind struct {
	name   string
	class  host.Class
	asked  bool // can be asked
	paid   bool // charges tokens
	inside bool // of the store
}

func (k kind) reads() bool { return k.class == host.Read }

// kinds are the tools: one of each class, with and without a query, charged or
// not, and those of the store.
func kinds() []kind {
	return []kind{
		{name: "read", class: host.Read},
		{name: "paid", class: host.Read, paid: true},
		{name: "keyed", class: host.Keyed},
		{name: "billed", class: host.Keyed, asked: true, paid: true},
		{name: "asked", class: host.Verify, asked: true},
		{name: "once", class: host.Once},
		{name: "kv.get", class: host.Read, inside: true},
		{name: "kv.put", class: host.Keyed, inside: true},
		{name: "kv.delete", class: host.Keyed, inside: true},
	}
}

func toolOf(name string) kind {
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	panic("no tool " + name)
}

func toolNames() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// answerTo is what every receiver says to a request.
func answerTo(n int) string { return fmt.Sprintf(`{"of":%d}`, n) }

// tools are what the engine of a life calls.
func (l *process) tools() (*host.Registry, error) {
	var all []host.Tool
	for _, k := range kinds() {
		switch t := (tool{k, l}); {
		case k.inside:
		case k.asked:
			all = append(all, askedTool{t})
		default:
			all = append(all, t)
		}
	}
	return host.NewRegistry(all...)
}

// tool carries calls from a process to the receivers.
type tool struct {
	kind
	process *process
}

func (t tool) ID() string { return t.name }

func (t tool) Contract() host.Contract {
	c := host.Contract{
		Kind: "go", Effect: t.class, Verifies: t.asked, Timeout: timeout, Settle: settle, KeyWindow: keyWindow,
		Tries: triesOf, Backoff: time.Second, MaxBackoff: 4 * time.Second,
	}
	if t.paid {
		c.Units = []string{"tokens"}
	}
	return c
}

func (t tool) Try(ctx context.Context, c *host.Call) host.Answer {
	c.Sent()
	return t.process.world.books.arrive(ctx, t.process, t.kind, c)
}

// well is the answer of a receiver that did what it should.
func (k kind) well(n int) host.Answer {
	return host.Answer{Outcome: host.OutcomeApplied, Settles: true, Response: response(n), Units: k.units()}
}

func response(n int) host.Response {
	return host.Response{Status: 200, Type: "json", Body: []byte(answerTo(n))}
}

func (k kind) units() map[string]int64 {
	if k.paid {
		return map[string]int64{"tokens": price}
	}
	return nil
}

// askedTool can be asked.
type askedTool struct{ tool }

func (t askedTool) Verify(_ context.Context, c *host.Call) host.Verdict {
	return t.process.world.books.ask(t.process, t.kind, c)
}

// number is the request of a call.
func number(c *host.Call) int {
	var req struct{ N int }
	if err := json.Unmarshal(c.Body, &req); err != nil {
		panic(err) // the module writes it
	}
	return req.N
}
