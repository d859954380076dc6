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
package httptool
