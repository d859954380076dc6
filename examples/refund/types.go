package main

import (
	"fmt"

	"github.com/pawl-dev/pawl/steps"
)

// The tools that the steps call. What they reach stands in tools.toml, which
// step may call which in workflow.toml.
var (
	claimTicket = steps.NewTool[Claim, struct{}]("tickets.claim")
	noteTicket  = steps.NewTool[Note, struct{}]("tickets.note")
	getOrder    = steps.NewTool[OrderQuery, Order]("orders.get")
	holdOrder   = steps.NewTool[HoldRequest, Hold]("orders.hold")
	complete    = steps.NewTool[Prompt, Completion]("llm.complete")
	payRefund   = steps.NewTool[Refund, Paid]("pay.refund")
	sendMail    = steps.NewTool[Mail, Sent]("mail.send")
)

// Ticket is the input of a run; schema/ticket.json has its rules.
type Ticket struct {
	ID     string   `json:"id"`
	Order  string   `json:"order"`
	Status string   `json:"status"`
	Items  []string `json:"items"` // the SKUs to refund; two equal ones are two items
	Text   string   `json:"text"`  // what the customer wrote: never trusted
}

// Order is what the order system knows of an order.
type Order struct {
	ID       string   `json:"id"`
	Customer Customer `json:"customer"`
	Currency string   `json:"currency"`
	Items    []Item   `json:"items"`
}

// Customer gets the money and the mail.
type Customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Item is one thing of an order.
type Item struct {
	SKU   string `json:"sku"`
	Title string `json:"title"`
	Price Cents  `json:"price_cent"`
}

// Cents is money in the minor unit, never a float.
type Cents int64

func (c Cents) in(currency string) string {
	return fmt.Sprintf("%d.%02d %s", c/100, c%100, currency)
}

// Case is what lookup found out: what is to be refunded of which order.
type Case struct {
	Order Order  `json:"order"` // with only the items to refund
	Hold  string `json:"hold"`
}

// Total is the sum of the items.
func (c *Case) Total() (sum Cents) {
	for _, item := range c.Order.Items {
		sum += item.Price
	}
	return sum
}

// Letter is what draft hands to send: the case and one kind paragraph.
type Letter struct {
	Ticket    string `json:"ticket"`
	Case      Case   `json:"case"`
	Paragraph string `json:"paragraph"`
}

// Result is the output of a run.
type Result struct {
	Ticket   string   `json:"ticket"`
	Order    string   `json:"order"`
	Refunds  []string `json:"refunds"`
	Refunded Cents    `json:"refunded_cent"`
	Currency string   `json:"currency"`
	Mail     string   `json:"mail"`
}

// Requests and responses of the tools.
type (
	// Claim takes a ticket.
	Claim struct {
		Ticket string `json:"ticket"`
		By     string `json:"by"`
	}
	// Note is written into a ticket.
	Note struct {
		Ticket string `json:"ticket"`
		Text   string `json:"text"`
	}
	// OrderQuery asks for an order.
	OrderQuery struct {
		Order string `json:"order"`
	}
	// HoldRequest keeps an order from being changed.
	HoldRequest struct {
		Order  string `json:"order"`
		Reason string `json:"reason"`
	}
	// Hold is one that was made.
	Hold struct {
		Hold string `json:"hold"`
	}
	// Prompt is for the model.
	Prompt struct {
		Prompt string `json:"prompt"`
	}
	// Completion is what the model said.
	Completion struct {
		Text   string `json:"text"`
		Tokens int64  `json:"tokens"`
	}
	// Refund pays back.
	Refund struct {
		Order    string `json:"order"`
		Amount   Cents  `json:"amount_cent"`
		Currency string `json:"currency"`
	}
	// Paid is a refund that was made.
	Paid struct {
		ID     string `json:"id"`
		Amount Cents  `json:"amount_cent"`
	}
	// Mail goes to a customer; its message id is put in by the tool.
	Mail struct {
		To      string `json:"to"`
		Subject string `json:"subject"`
		Text    string `json:"text"`
	}
	// Sent is a mail that went out.
	Sent struct {
		ID string `json:"id"`
	}
)
