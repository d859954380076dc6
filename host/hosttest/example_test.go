package hosttest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/hosttest"
)

// ExampleExercise is the test of a tool that says it is keyed: its receiver must
// apply a key at most once. This one's does not look at the key, and the author
// learns of it.
func ExampleExercise() {
	var mu sync.Mutex
	books := 0 // what the receiver has applied
	pay := host.Func("pay", func(context.Context, *host.Call, struct{ Order int }) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		books++
		return "paid", nil
	}, &host.FuncOptions{Contract: host.Contract{Effect: host.Keyed}})

	request := func(n int) []byte { return fmt.Appendf(nil, `{"order":%d}`, n) }
	effects := func() int {
		mu.Lock()
		defer mu.Unlock()
		return books
	}

	var t testing.TB = &printer{} // in your test: func TestPay(t *testing.T)
	hosttest.Exercise(t, pay, request, effects, nil)
	// Output:
	// pay (keyed): the same key again: one key had a second effect
	// pay (keyed): the same key at once: one key had 4 effects
}

// printer prints what a test would report.
type printer struct{ testing.TB }

func (*printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (*printer) Logf(string, ...any)               {}
func (*printer) Helper()                           {}
func (*printer) Context() context.Context          { return context.Background() }
func (*printer) Cleanup(func())                    {}
