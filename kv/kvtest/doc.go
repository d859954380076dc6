// Package kvtest is the conformance suite of [kv.Store], for whoever writes
// another store: one call of [Exercise] in a test says whether the runtime can
// be used on it. Who only uses a store does not need it.
package kvtest
