package kills_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Campaigns are
//
//	go test ./runtime/proof/kills -args -kills 200 -flips 500 -copies 50 -rounds 200
var (
	kills  = flag.Int("kills", 8, "how often a process at work is killed")
	flips  = flag.Int("flips", 10, "how many single bytes of a store are flipped")
	copies = flag.Int("copies", 3, "how often a directory is copied while it is written")
	rounds = flag.Int("rounds", 20, "how often two engines meet in one run")
)

// A process of this test's binary is what these say, if one is set.
const (
	lifeVariable      = "PAWL_KILLS_LIFE"
	receiversVariable = "PAWL_KILLS_RECEIVERS"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(lifeVariable) != "":
		var l life
		if err = json.Unmarshal([]byte(os.Getenv(lifeVariable)), &l); err == nil {
			err = l.live()
		}
	case os.Getenv(receiversVariable) != "":
		err = receive(os.Getenv(receiversVariable))
	default:
		goleak.VerifyTestMain(m)
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
