// Package host is what steps can reach: tools with contracts, and the protocol
// that carries a call from its intent to its receipt so that no finished effect
// happens twice. It is for people who write tools in Go and for the runtime;
// who only runs workflows does not need it. It knows no store: it asks for the
// small [Ledger].
package host
