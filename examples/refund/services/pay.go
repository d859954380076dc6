package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

var payRoutes = []route{
	{pattern: "POST /pay/refunds", tool: "pay.refund", do: (*world).refund, single: true},
	{pattern: "GET /pay/refunds", tool: "pay.refund.verify", key: keyInQuery("key"), do: func(w *world, q *request) reply {
		return w.found("pay.refund", q.key)
	}},
}

type refund struct {
	Order    string `json:"order"`
	Amount   int64  `json:"amount_cent"`
	Currency string `json:"currency"`
}

// refund pays once per key: a key that comes again with the same body gets its
// first answer, with another body it is refused.
func (w *world) refund(q *request) reply {
	if first, ok := w.first(q); ok {
		if string(first.Body) != string(q.body) {
			return refused(http.StatusUnprocessableEntity, "key_reused")
		}
		return again(first)
	}
	var r refund
	if !q.fits(&r) || r.Amount <= 0 {
		return refused(http.StatusUnprocessableEntity, "bad_amount")
	}
	o, ok := w.order(r.Order)
	switch {
	case !ok:
		return refused(http.StatusNotFound, "unknown_order")
	case r.Currency != o.Currency:
		return refused(http.StatusUnprocessableEntity, "bad_currency")
	case w.refunded(o)+r.Amount > o.paid():
		return refused(http.StatusUnprocessableEntity, "already_refunded")
	}
	id := fmt.Sprintf("rf_%d", len(w.ledger.effects("pay.refund"))+1)
	return reply{status: http.StatusCreated, effect: true, body: map[string]any{
		"id": id, "order": r.Order, "amount_cent": r.Amount, "currency": r.Currency,
	}}
}

func (w *world) refunded(o *Order) int64 {
	sum := o.Refunded
	for _, e := range w.ledger.effects("pay.refund") {
		var r refund
		if json.Unmarshal(e.Body, &r) == nil && r.Order == o.ID {
			sum += r.Amount
		}
	}
	return sum
}
