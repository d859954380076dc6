package steps_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/steps"
)

type (
	ticket     struct{ ID, Order, Status string }
	orderQuery struct{ Order string }
	order      struct {
		ID    string
		Total int64 // in cents: money is never a float
		Label string
	}
	refund struct {
		Order  string
		Amount int64
	}
	paid struct{ ID string }
)

// Tools are package variables, so that the module's description lists them.
var (
	getOrder  = steps.NewTool[orderQuery, order]("orders.get")
	payRefund = steps.NewTool[refund, paid]("pay.refund")
)

// A module of steps registers them in init; its main stays empty.
func init() {
	steps.Handle("lookup", lookup)
	steps.Handle("pay", pay)
}

func lookup(s *steps.Step, in ticket) (order, error) {
	if in.Status != "open" {
		return order{}, steps.Fail("wrong_status", "ticket %s is %s", in.ID, in.Status)
	}
	return getOrder.Call(s, orderQuery{in.Order})
}

func pay(s *steps.Step, in order) (paid, error) {
	if in.Label == "" {
		return paid{}, steps.NotYet(5*time.Minute, "order %s has no label yet", in.ID)
	}
	// The key makes it one refund per order over all runs.
	out, err := payRefund.Call(s, refund{in.ID, in.Total}, steps.Key("refund:"+in.ID))
	if errors.Is(err, steps.ErrRejected) {
		return paid{}, steps.Fail("not_refundable", "order %s: %w", in.ID, err)
	}
	// Any other error goes back as it is: the next attempt makes the call again
	// if that can help.
	return out, err
}

// How do I try a step without building a module? Run it with fakes for its
// tools; a breakpoint in lookup works.
func ExampleTest() {
	out, err := steps.Test("lookup", ticket{ID: "T1", Order: "W1", Status: "open"}, steps.Tools{
		"orders.get": func(req json.RawMessage) (any, error) {
			fmt.Printf("asked %s\n", req)
			return order{ID: "W1", Total: 1490}, nil
		},
	})
	fmt.Printf("%s %v\n", out, err)
	// Output:
	// asked {"Order":"W1"}
	// {"ID":"W1","Total":1490,"Label":""} <nil>
}

// How does a step say that trying again is no use?
func ExampleFail() {
	_, err := steps.Test("lookup", ticket{ID: "T4", Order: "W4", Status: "closed"}, nil)
	var f *steps.Failure
	fmt.Println(errors.As(err, &f), f.Code, f.Retry)
	// Output: true wrong_status never
}

// How does a step wait for something without holding anything?
func ExampleNotYet() {
	_, err := steps.Test("pay", order{ID: "W1", Total: 1490}, nil)
	var f *steps.Failure
	fmt.Println(errors.As(err, &f), f.Code, f.Retry, f.After)
	// Output: true not_yet fresh 5m0s
}

// What does a step do about a receiver that refuses?
func ExampleAnswer() {
	_, err := steps.Test("pay", order{ID: "W5", Total: 1490, Label: "L"}, steps.Tools{
		"pay.refund": func(json.RawMessage) (any, error) {
			return nil, steps.Answer(steps.ErrRejected, "http_422", "already refunded")
		},
	})
	fmt.Println(err)
	// Output: not_refundable: order W5: pay.refund: already refunded
}
