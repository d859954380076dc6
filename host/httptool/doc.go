// Package httptool is the kind of tool that is an HTTP request: it puts a
// step's JSON into one request, sends that request exactly once, and says what
// became of it. It is for operators, who describe such tools in tools.toml, and
// for programs that embed the runtime and build them with [New]; a step never
// sees it, and a receiver that is reached by a Go library is better wrapped
// with package host's Func.
//
// What it promises:
//
//   - One try is one sending. Nothing underneath sends a request again: not on
//     a broken connection, not through a proxy. Only a read by GET goes on to
//     where redirects lead, at most five times, without its credentials once it
//     leaves its place, and never from https to http.
//   - Call.Sent is called after the connection stands and before the first byte
//     of the request leaves.
//   - Values of secrets are read when a request is sent, are never kept, and are
//     cut out of every answer, verdict and message. What people are shown has
//     their names.
//   - A private address is not reached unless the tool says allow = ["private"];
//     the address that is dialled is checked, not the name.
//
// # The keys in tools.toml
//
// Those of this kind; package toolfile documents what every tool has. Only url
// is required; [Config], [Key], [Answers] and [Verify] say more of each.
//
//	[tool."payments-eu"]
//	kind    = "http"
//	effect  = "keyed"
//	url     = "https://pay.example/v1/{account}/refunds"   # {field} of the request
//	method  = "POST"                          # default: GET for a read, else POST
//	headers = { Authorization = "Bearer {secret.pay_token}" }   # default: none
//	body    = "form"                          # json (the default) | form | raw
//	allow   = ["private"]                     # default: public addresses only
//	key     = { header = "Idempotency-Key", format = "uuid", window = "24h" }
//	                                          # or json = "/message_id", query = "key"; default: that
//	                                          # header (none for a read), format "ulid", 24h
//
//	[tool."payments-eu".answer]               # what differs from the defaults below
//	not_applied = [402]                       # also applied, rejected, unknown
//
//	[tool."payments-eu".verify]               # default: it cannot be asked
//	url     = "https://pay.example/v1/refunds?key={key}"
//	settle  = "10s"                           # default: 30s
//	applied = "size(response.data) == 1"      # CEL over status and response
//	absent  = "size(response.data) == 0"
//	receipt = "/data/0"                       # default: the whole answer
//
// # What an answer means by default
//
//   - applied: 2xx.
//   - not_applied: 401, 403, 407, which wait for a person to mend the
//     credentials; 425, 429, and 503 with a Retry-After; 3xx of a read.
//   - rejected: 4xx otherwise.
//   - unknown: 408, 409, and everything else, such as 500, or no answer.
package httptool
