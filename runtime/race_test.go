//go:build race

package runtime_test

// defaultPowerRuns is less under the race detector, which makes compiled
// guests ten times as slow to load.
const defaultPowerRuns = 40

const underRace = true
