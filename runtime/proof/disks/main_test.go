package disks_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// A campaign is
//
//	go test ./runtime/proof/disks -args -faults 100
var faults = flag.Int("faults", 2, "how often a process loses its disk under a write")

// A process of this test's binary is a life if this is set.
const lifeVariable = "PAWL_DISKS_LIFE"

func TestMain(m *testing.M) {
	text := os.Getenv(lifeVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var l life
	err := json.Unmarshal([]byte(text), &l)
	if err == nil {
		err = l.live()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// cacheDir is shared by all test processes of a user, so that a module is
// compiled once.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "pawl-test")
}
