//go:build !race

package runtime_test

const defaultPowerRuns = 200
