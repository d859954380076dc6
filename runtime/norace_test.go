//go:build !race

package runtime_test

const defaultPowerRuns = 200

const underRace = false
