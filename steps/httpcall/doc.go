// Package httpcall is for steps written in Go that use a library which insists on
// an [http.Client]: [Transport] turns its requests into calls of tools. All
// other steps do not need it: a [steps.Tool] says the same in fewer words, and
// net/http makes a module about three times as large.
//
//	var getOrder = httpcall.NewTool("orders.get", "GET /v1/orders/{order}")
//
//	func lookup(s *steps.Step, in Ticket) (Order, error) {
//		client := orders.NewClient("http://orders", &http.Client{Transport: httpcall.Transport(s, getOrder)})
//		return client.Order(in.Order)
//	}
//
// with, in tools.toml,
//
//	[tool."orders.get"]
//	kind   = "http"
//	effect = "read"
//	url    = "https://orders.internal/v1/orders/{order}"
//
// Whom a tool reaches, and with which headers and secrets, is the operator's to
// say: scheme and host of the client's requests are looked at only where a
// pattern names a host. So each endpoint that a library uses needs a tool of its
// own, with its own effect class; one transport takes several.
//
// # What becomes of a request
//
// The tool must send what the client meant, so both have the same method and
// the same path: the names in the pattern's braces are those in the url of
// tools.toml. What such a tool cannot send is refused before anything is
// recorded, and never left out silently:
//
//   - GET and DELETE: the request of the tool is an object, {"order":"W1"}, of the
//     path's wildcards and the parameters of the query, all strings. Every
//     parameter must be in the url (?expand={expand}), and once only. A body
//     is refused.
//   - POST, PUT and PATCH: the request of the tool is the client's body. If its
//     Content-Type is JSON it goes to a tool with body = "json"; anything else,
//     forms too, to one with body = "raw" and the Content-Type among its headers.
//     Since the tool sends its whole request as the body, wildcards and
//     parameters are possible only where the body is an object that has them
//     too, with the same value.
//   - Headers do not reach the tool. Accept, Accept-Encoding, Content-Type and
//     User-Agent are dropped; every other one that the client sets is refused
//     unless [NewTool] is told to drop it. An Authorization is the operator's: the
//     client needs no key, or a made-up one.
//
// # What becomes of an answer
//
// An answer of the receiver comes back as an [http.Response] with its status and
// body, also 404 or 503. Of its headers there are Content-Type, if the
// body is JSON, Content-Length, and Retry-After, if the receiver said when to come
// again. What is no answer comes back as a [*steps.CallError], which errors.As
// finds in what the client returns: denied, refused as above, no connection, no
// answer in time. Returned from the step it does what it does there.
//
// # What to switch off in the client
//
//   - Its own retries: a tool has its tries in tools.toml, a step its attempts. A
//     client that asks again makes another call, which is another effect.
//   - Its idempotency keys: each call has one.
//   - Its time limits. They see the recorded time and say nothing.
package httpcall
