// Command services is the outside world of the refund example and its tests: a
// ticket system, an order system, payments, mail and a language model, all on
// one port, with ledgers on disk that tell what really happened and with faults
// on demand. It is for people who try or test workflows; it keeps nobody's
// money and no program should depend on it.
//
// The first line of its output is "listening ADDR". It keeps one append-only
// file per service in the ledger directory (tickets.jsonl, orders.jsonl, ...);
// a line is a [Line], synced before the request that caused it is answered. A
// line of kind "effect" is something that happened, a line of kind "request" is
// merely something that came in. Started again on the same directory it goes on
// from there.
//
// # Routes
//
//	PUT    /tickets/{ticket}/claim       tickets.claim        harmless to repeat: no second effect
//	PUT    /tickets/{ticket}/note        tickets.note         harmless to repeat
//	GET    /orders/{order}               orders.get
//	POST   /orders/holds                 orders.hold          every request is a hold
//	GET    /orders/holds?key=            orders.hold.verify
//	DELETE /orders/holds/{hold}          orders.release       harmless to repeat
//	POST   /pay/refunds                  pay.refund           once per Idempotency-Key
//	GET    /pay/refunds?key=             pay.refund.verify
//	POST   /mail/send                    mail.send            every request is a mail
//	GET    /mail/sent?message_id=        mail.send.verify
//	POST   /llm/complete                 llm.complete         scripted; cannot be asked afterwards
//	POST   /_control                     sets a fault, see [Fault]
//	GET    /_ledger                      all lines, in the order in which they were written
package main
