//go:build race

package crashtest_test

// slow says that this program has the race detector in it.
const slow = true
