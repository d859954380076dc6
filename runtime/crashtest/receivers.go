package crashtest

import "context"

// When says on which side of its effect a request is held.
type When string

// The sides.
const (
	Before When = "before" // read, never applied, never answered
	After  When = "after"  // applied, in the ledger, never answered
)

// Effect is something that happened at a receiver. Two effects are the same if
// tool and body are equal, apart from their keys.
type Effect struct {
	// Tool is the name of the tool as the steps call it.
	Tool string
	// Body is everything that tells one effect from another. The key may stand
	// in it.
	Body string
	// Key is the idempotency key that came with it; empty if there was none.
	Key string
}

// Request is something that reached a receiver, whatever came of it.
type Request struct {
	Tool string
	Key  string
}

// Receivers are the outside world of one run: they live in this process or in
// one of their own, and outlive the kill. Their ledgers are the judge, so they
// must not take the engine's word for anything.
type Receivers interface {
	// Hold lets the next request of the tool hang. The channel is closed when it
	// does. A request held before its effect must never have it, also not when
	// its sender is gone. At most one hold is asked for.
	Hold(ctx context.Context, tool string, when When) (held <-chan struct{}, err error)
	// Effects lists everything that happened, in order.
	Effects(ctx context.Context) ([]Effect, error)
	// Requests lists everything that came in, in order. Questions about a key
	// are not requests of the tool.
	Requests(ctx context.Context) ([]Request, error)
	// Close ends them.
	Close() error
}
