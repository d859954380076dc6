package guests_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// A process of this test's binary is one life of an engine, if this is set.
const lifeVariable = "PAWL_GUESTS_LIFE"

// Measuring what the compiler needs for the worst modules that the limits let
// through is
//
//	go test ./runtime/proof/guests -run Worst -v -args -worst ROW
var worst = flag.String("worst", "", "the row of the worst modules that is compiled; all for each in turn")

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
