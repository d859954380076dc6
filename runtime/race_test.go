//go:build race

package runtime_test

const underRace = true
