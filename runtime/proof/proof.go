package proof

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Main is the TestMain of a folder whose tests start processes. A process of the
// test's binary in which one of these environment variables is set is handed the
// value, and ends; any other runs the tests, which must leave no goroutine. It
// does not return.
func Main(m *testing.M, processes map[string]func(text string) error) {
	for variable, do := range processes {
		text := os.Getenv(variable)
		if text == "" {
			continue
		}
		if err := do(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// CacheDir is where all tests of a user keep compiled modules, so that each is
// compiled once.
func CacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "pawl-test")
}
