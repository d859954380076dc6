package runtime

import (
	"context"
	"errors"
	"testing"
)

// onItsWay is a batch that is not durable yet.
type onItsWay struct {
	done chan struct{}
	err  error
}

func (p *onItsWay) Wait(context.Context) error { <-p.done; return p.err }
func (p *onItsWay) Done() <-chan struct{}      { return p.done }
func (p *onItsWay) Err() error                 { return p.err }
func (p *onItsWay) Number() uint64             { return 0 }

// A key whose receipt is on its way may be taken: whoever takes it waits for
// that. It is forgotten when that has landed, also if it failed.
//
// Seen red with a receipt that keeps those away who come before it is durable,
// and with a failed one that is kept.
func TestKeyWhoseReceiptIsOnItsWay(t *testing.T) {
	t.Parallel()
	var k keys
	stands := func(sending, landing bool) {
		t.Helper()
		if s, l := k.stands("k"); s != sending || l != landing {
			t.Errorf("sending %t, landing %t", s, l)
		}
	}
	stands(false, false)
	if last, holder, err := k.take(t.Context(), "k", "r1"); last != nil || holder != "" || err != nil {
		t.Fatal(last, holder, err)
	}
	stands(false, false)
	k.send("k")
	stands(true, false)
	if _, holder, _ := k.take(t.Context(), "k", "r2"); holder != "r1" {
		t.Errorf("held by %q", holder)
	}
	receipt := &onItsWay{done: make(chan struct{}), err: errors.New("lost")}
	k.release("k", receipt)
	stands(false, true)
	close(receipt.done)
	stands(false, false)
	if last, _, _ := k.take(t.Context(), "k", "r2"); last != receipt {
		t.Error("it need not be waited for")
	}
	k.release("k", receipt)
	if len(k.used) != 0 {
		t.Errorf("%d keys are kept", len(k.used))
	}
}
