package hosttest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/hosttest"
)

type payment struct {
	Order  int  `json:"order"`
	Refuse bool `json:"refuse,omitempty"`
}

// bank is a receiver: its books, and what it does with the next sending.
type bank struct {
	mu      sync.Mutex
	effects int
	keys    map[host.Key]string
	next    string // "", lose, drop, hang
	hang    chan struct{}
	here    map[host.Key]chan struct{} // who waits in meet
	orders  map[string]bool
}

func newBank() *bank {
	return &bank{keys: map[host.Key]string{}, here: map[host.Key]chan struct{}{}, orders: map[string]bool{}}
}

// meet waits a little for a second caller with the key.
func (b *bank) meet(key host.Key) {
	b.mu.Lock()
	c, ok := b.here[key]
	if ok {
		delete(b.here, key)
		close(c)
	} else {
		c = make(chan struct{})
		b.here[key] = c
	}
	b.mu.Unlock()
	select {
	case <-c:
	case <-time.After(50 * time.Millisecond):
	}
}

func (b *bank) takeOrder(body []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders[string(body)] = true
}

func (b *bank) tookOrder(body []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.orders[string(body)]
}

func (b *bank) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.effects
}

// apply pays under a key that it does not know, or every time.
func (b *bank) apply(key host.Key, order int, keyed bool) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id, ok := b.keys[key]; ok && keyed {
		return id
	}
	b.effects++
	b.keys[key] = fmt.Sprint("rf_", order, "_", b.effects)
	return b.keys[key]
}

func (b *bank) knows(key host.Key) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.keys[key]
	return id, ok
}

func (b *bank) mode() (string, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := b.next
	b.next = ""
	return next, b.hang
}

func (b *bank) set(next string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.hang = next, make(chan struct{})
}

var errLost = errors.New("no answer")

// pay is an honest tool's function over the bank.
func (b *bank) pay(class host.Class) func(context.Context, *host.Call, payment) (string, error) {
	return func(ctx context.Context, c *host.Call, p payment) (string, error) {
		if ctx.Err() != nil {
			return "", host.NotApplied(ctx.Err())
		}
		if p.Refuse {
			return "", host.Rejected(errors.New("nothing to refund"))
		}
		next, hang := b.mode()
		switch next {
		case "drop":
			return "", errLost
		case "lose":
			if class != host.Read {
				b.apply(c.Key, p.Order, class == host.Keyed)
			}
			return "", errLost
		case "hang":
			select {
			case <-hang:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		if class == host.Read {
			return fmt.Sprint("order ", p.Order), nil
		}
		return b.apply(c.Key, p.Order, class == host.Keyed), nil
	}
}

func (b *bank) verify(_ context.Context, c *host.Call) (any, bool, error) {
	id, ok := b.knows(c.Key)
	return id, ok, nil
}

func request(n int) []byte { return fmt.Appendf(nil, `{"order":%d}`, n) }

// options let everything be checked.
func (b *bank) options() *hosttest.Options {
	return &hosttest.Options{
		Refused: func() []byte { return []byte(`{"order":1,"refuse":true}`) },
		Lose:    func() { b.set("lose") },
		Drop:    func() { b.set("drop") },
		Hang: func() func() {
			b.set("hang")
			return func() { close(b.hang) }
		},
		Secrets: []string{"tok_123"},
	}
}
