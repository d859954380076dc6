// Command guest is the module of the tests' workflow: a refund whose receivers
// do as a test tells them, and whose steps can be told what to say.
package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-dev/pawl/steps"
)

// Order is what a run is started with; schema/order.json says the same.
type Order struct {
	Order  string          `json:"order"`
	Amount int64           `json:"amount"`
	Say    string          `json:"say"`   // logged, and part of what comes out
	Fail   string          `json:"fail"`  // the message with which draft fails for good
	Wait   int             `json:"wait"`  // hours until draft is ready
	Size   int             `json:"size"`  // bytes of the draft's text
	Extra  json.RawMessage `json:"extra"` // passed on
}

type ask struct {
	Order  string          `json:"order"`
	Amount int64           `json:"amount,omitempty"`
	Text   string          `json:"text,omitempty"`
	Extra  json.RawMessage `json:"extra,omitempty"`
}

type answer struct {
	ID   string `json:"id"`
	Text string `json:"text,omitempty"`
}

var (
	claim   = steps.NewTool[ask, answer]("tickets.claim")
	read    = steps.NewTool[ask, answer]("orders.get")
	hold    = steps.NewTool[ask, answer]("orders.hold")
	model   = steps.NewTool[ask, answer]("llm.complete")
	pay     = steps.NewTool[ask, answer]("pay.refund")
	voucher = steps.NewTool[ask, answer]("pay.voucher")
	mail    = steps.NewTool[ask, answer]("mail.send")
)

func init() {
	steps.Handle("check", check)
	steps.Handle("lookup", lookup)
	steps.Handle("draft", draft)
	steps.Handle("send", send)
}

func main() {}

func check(s *steps.Step, in Order) (Order, error) {
	s.Log("checking order %s of %d", in.Order, in.Amount)
	_, err := claim.Call(s, ask{Order: in.Order})
	return in, err
}

func lookup(s *steps.Step, in Order) (Order, error) {
	if _, err := read.Call(s, ask{Order: in.Order}); err != nil {
		return in, err
	}
	_, err := hold.Call(s, ask{Order: in.Order, Amount: in.Amount})
	return in, err
}

func draft(s *steps.Step, in Order) (Order, error) {
	if in.Say != "" {
		s.Log("%s", in.Say)
		s.Logger().Warn(in.Say, "say", in.Say)
	}
	if in.Wait > 0 {
		return in, steps.NotYet(time.Duration(in.Wait)*time.Hour, "the bank has not booked order %s", in.Order)
	}
	if in.Fail != "" {
		return in, steps.Fail("refused", "%s", in.Fail)
	}
	text := in.Say
	if in.Size > 0 {
		text = fmt.Sprintf("%0*d", in.Size, 7)
	}
	a, err := model.Call(s, ask{Order: in.Order, Text: text, Extra: in.Extra})
	if a.Text != "" {
		in.Say = a.Text
	}
	return in, err
}

// send pays with a voucher where the refund is down; that attempt fails
// nevertheless, so that a later one may leave the voucher behind.
func send(s *steps.Step, in Order) (answer, error) {
	paid, err := pay.Call(s, ask{Order: in.Order, Amount: in.Amount})
	if err != nil {
		if _, alsoDown := voucher.Call(s, ask{Order: in.Order, Amount: in.Amount}); alsoDown != nil {
			return paid, alsoDown
		}
		return paid, err
	}
	_, err = mail.Call(s, ask{Order: in.Order, Text: in.Say})
	return paid, err
}
