// Package fakes drives receivers that run in a process of their own and speak
// the protocol of examples/refund/services: an address on their first line,
// faults by POST /_control, ledgers by GET /_ledger. It is for crash tests and
// demos of workflows whose outside world is such a process; it has nothing to
// do with real receivers.
package fakes
