package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/steps"
)

func init() {
	steps.Handle("validate", validate)
	steps.Handle("lookup", lookup)
	steps.Handle("draft", draft)
	steps.Handle("send", send)
}

func main() {}

// validate takes the ticket, if it is one to be worked on. What is wrong with
// the ticket is said before anything is written anywhere.
func validate(s *steps.Step, t Ticket) (Ticket, error) {
	if t.Status != "open" {
		return t, steps.Fail("wrong_status", "ticket %s is %s; only an open one is refunded", t.ID, t.Status)
	}
	_, err := claimTicket.Call(s, Claim{Ticket: t.ID, By: "refunds"})
	return t, err
}

// lookup finds the order, checks that it has what the ticket asks for, and
// holds it so that nobody ships or changes it meanwhile.
func lookup(s *steps.Step, in struct {
	Ticket Ticket `json:"ticket"`
},
) (Case, error) {
	order, err := getOrder.Call(s, OrderQuery{Order: in.Ticket.Order})
	if errors.Is(err, steps.ErrRejected) {
		// The next attempt would be told the same: say so with a code.
		return Case{}, steps.Fail("unknown_order", "ticket %s: %w", in.Ticket.ID, err)
	}
	if err != nil {
		return Case{}, err // the next attempt asks again, if that can help
	}
	if order.Items, err = pick(order.Items, in.Ticket.Items); err != nil {
		return Case{}, steps.Fail("unknown_item", "ticket %s, order %s: %w", in.Ticket.ID, order.ID, err)
	}
	hold, err := holdOrder.Call(s, HoldRequest{Order: order.ID, Reason: "refund " + in.Ticket.ID})
	if err != nil {
		return Case{}, err
	}
	s.Log("order %s held as %s, %d of its items to refund", order.ID, hold.Hold, len(order.Items))
	return Case{Order: order, Hold: hold.Hold}, nil
}

// pick takes the items with these SKUs, each at most once.
func pick(items []Item, skus []string) ([]Item, error) {
	left := slices.Clone(items)
	var picked []Item
	for _, sku := range skus {
		i := slices.IndexFunc(left, func(item Item) bool { return item.SKU == sku })
		if i < 0 {
			return nil, fmt.Errorf("no (further) item %s", sku)
		}
		picked = append(picked, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return picked, nil
}

// draft lets a model write one paragraph. The customer's text goes to the model
// and nowhere else: amounts and addresses come from the order alone.
func draft(s *steps.Step, in struct {
	Ticket Ticket `json:"ticket"`
	Case   Case   `json:"case"`
},
) (Letter, error) {
	said, err := complete.Call(s, Prompt{Prompt: fmt.Sprintf(
		"Write two kind sentences, without amounts or addresses, to a customer who gets a refund and wrote:\n%s", in.Ticket.Text,
	)})
	if err != nil {
		return Letter{}, err
	}
	out := Letter{Ticket: in.Ticket.ID, Case: in.Case, Paragraph: said.Text}
	if !isProse(said.Text) {
		s.Logger().Warn("the draft is not used: it names amounts or addresses", "ticket", in.Ticket.ID)
		out.Paragraph = "Thank you for writing to us. We are sorry for the trouble."
	}
	note := fmt.Sprintf("refund of %s: %s", in.Case.Total().in(in.Case.Order.Currency), out.Paragraph)
	_, err = noteTicket.Call(s, Note{Ticket: in.Ticket.ID, Text: note})
	return out, err
}

// isProse reports whether a model's text can stand in a mail: whatever a
// ticket talked it into, it must not promise money or name an address.
func isProse(text string) bool {
	const most = 600
	return text != "" && len(text) <= most && !strings.ContainsAny(text, "0123456789@")
}

// send pays back each item and tells the customer. Two equal items are two
// equal calls, and two equal calls are two refunds; a call that is repeated
// after a crash or a lost answer is still the one refund that it was.
func send(s *steps.Step, in Letter) (Result, error) {
	order := in.Case.Order
	out := Result{Ticket: in.Ticket, Order: order.ID, Currency: order.Currency}
	for _, item := range order.Items {
		paid, err := payRefund.Call(s, Refund{Order: order.ID, Amount: item.Price, Currency: order.Currency})
		if errors.Is(err, steps.ErrRejected) {
			return Result{}, steps.Fail("refund_refused", "%s of order %s: %w", item.SKU, order.ID, err)
		}
		if err != nil {
			return Result{}, err
		}
		out.Refunds = append(out.Refunds, paid.ID)
		out.Refunded += paid.Amount
	}
	sent, err := sendMail.Call(s, Mail{
		To:      order.Customer.Email,
		Subject: "Your refund for order " + order.ID,
		Text: fmt.Sprintf("Dear %s,\n\n%s\nWe have refunded %s to you.\n",
			order.Customer.Name, in.Paragraph, out.Refunded.in(order.Currency)),
	})
	out.Mail = sent.ID
	return out, err
}
