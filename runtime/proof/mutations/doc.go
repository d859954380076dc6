// Package mutations takes the safety rules out of the engine, one at a time, and
// looks whether the tests that are said to guard them go red. It is for this
// repository's tests only.
//
//	go test -timeout 1h ./runtime/proof/mutations -mutate
//
// Without the flag it only makes sure that the table still fits the code.
package mutations
