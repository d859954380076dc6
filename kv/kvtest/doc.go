// Package kvtest is the conformance suite of [kv.Store], for whoever writes
// another store: one call of [Exercise] in a test says whether the runtime can
// be used on it. It also has a store of its own for tests of whatever runs on
// one: a [Disk] in memory whose power can be cut. Who only uses a store does
// not need it.
package kvtest
