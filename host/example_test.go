package host_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pawl-dev/pawl/host"
)

// ExampleFunc writes a tool: a bank that knows keys, in the words of the
// protocol. Its contract says that a key is applied at most once, so an unknown
// outcome is asked about and, if need be, sent again with the same key.
func ExampleFunc() {
	type refund struct {
		Order  string `json:"order"`
		Amount int64  `json:"amount"`
	}
	type paid struct {
		ID string `json:"id"`
	}
	var bank sync.Map // from key to the receipt

	pay := func(ctx context.Context, c *host.Call, r refund) (paid, error) {
		if r.Amount <= 0 {
			return paid{}, host.Rejected(errors.New("nothing to refund")) // certain, for good
		}
		if ctx.Err() != nil {
			return paid{}, host.NotApplied(ctx.Err()) // certain: nothing was sent
		}
		receipt, _ := bank.LoadOrStore(c.Key, paid{ID: "rf_" + r.Order})
		return receipt.(paid), nil // a plain error here would mean: unknown
	}
	tool := host.Func("pay.refund", pay, &host.FuncOptions{
		Contract: host.Contract{Effect: host.Keyed, Tries: 3, Help: "Ask the bank for {key}."},
		Verify: func(_ context.Context, c *host.Call) (response any, found bool, err error) {
			response, found = bank.Load(c.Key)
			return response, found, nil
		},
	})

	tools, err := host.NewRegistry(tool) // what an engine is opened with
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range tools.IDs() {
		t, _ := tools.Tool(id)
		fmt.Println(id, t.Contract().Effect)
	}
	call := &host.Call{Tool: "pay.refund", Type: "json", Body: []byte(`{"order":"W1","amount":500}`), Sent: func() {}}
	for range 2 { // the same key twice is one effect
		answer := tool.Try(context.Background(), call)
		fmt.Println(answer.Outcome, string(answer.Response.Body))
	}
	// Output:
	// pay.refund keyed
	// applied {"id":"rf_W1"}
	// applied {"id":"rf_W1"}
}
