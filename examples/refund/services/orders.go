package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
)

//go:embed orders.json
var ordersFile []byte

// Order is what the order system and the payments know of an order. Money is in
// cents.
type Order struct {
	ID       string   `json:"id"`
	Customer Customer `json:"customer"`
	Currency string   `json:"currency"`
	Items    []Item   `json:"items"`

	// Refunded is what was paid back before the ledger began.
	Refunded int64 `json:"refunded_cent,omitempty"`
	// Payment is the fault of the payments for this order from the start.
	Payment *Fault `json:"payment,omitempty"`
}

// Customer is who gets the mail.
type Customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Item is one thing that was bought; two equal ones are two items.
type Item struct {
	SKU   string `json:"sku"`
	Title string `json:"title"`
	Price int64  `json:"price_cent"`
}

func (o *Order) paid() (sum int64) {
	for _, item := range o.Items {
		sum += item.Price
	}
	return sum
}

func loadOrders() (orders []Order, err error) {
	if err := json.Unmarshal(ordersFile, &orders); err != nil {
		return nil, fmt.Errorf("orders.json: %w", err)
	}
	return orders, nil
}

func (w *world) order(id string) (*Order, bool) {
	for i := range w.orders {
		if w.orders[i].ID == id {
			return &w.orders[i], true
		}
	}
	return nil, false
}

var orderRoutes = []route{
	{pattern: "GET /orders/{order}", tool: "orders.get", do: (*world).getOrder},
	{pattern: "POST /orders/holds", tool: "orders.hold", do: (*world).hold},
	{pattern: "GET /orders/holds", tool: "orders.hold.verify", key: keyInQuery("key"), do: func(w *world, q *request) reply {
		return w.found("orders.hold", q.key)
	}},
	{pattern: "DELETE /orders/holds/{hold}", tool: "orders.release", do: (*world).release},
}

func (w *world) getOrder(q *request) reply {
	o, ok := w.order(q.PathValue("order"))
	if !ok {
		return refused(http.StatusNotFound, "unknown_order")
	}
	return reply{status: http.StatusOK, body: map[string]any{
		"id": o.ID, "customer": o.Customer, "currency": o.Currency, "items": o.Items,
	}}
}

// hold takes every request as a new hold: this service looks at no keys before
// it acts, it can only be asked about them afterwards.
func (w *world) hold(q *request) reply {
	var hold struct{ Order string }
	if !q.fits(&hold) {
		return refused(http.StatusUnprocessableEntity, "no_order")
	}
	if _, ok := w.order(hold.Order); !ok {
		return refused(http.StatusNotFound, "unknown_order")
	}
	id := fmt.Sprintf("h_%d", len(w.ledger.effects("orders.hold"))+1)
	return reply{status: http.StatusCreated, body: map[string]string{"hold": id, "order": hold.Order}, effect: true}
}

func (w *world) release(q *request) reply {
	id := q.PathValue("hold")
	if last, ok := w.latest(q); ok {
		return again(last)
	}
	for _, e := range w.ledger.effects("orders.hold") {
		var hold struct{ Hold string }
		if json.Unmarshal(e.Answer, &hold) == nil && hold.Hold == id {
			return reply{status: http.StatusOK, body: map[string]string{"released": id}, effect: true}
		}
	}
	return refused(http.StatusNotFound, "unknown_hold")
}
