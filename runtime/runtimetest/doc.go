// Package runtimetest fills a store with runs that nothing executed, for tests
// and benchmarks of what lists, shows or counts a hundred thousand of them.
//
// Programs do not need it: what it writes says that things happened which did
// not. Whoever wants to try out a workflow starts runs of it; whoever wants to
// see it crash uses package crashtest.
package runtimetest
