package kills_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/pawl-dev/pawl/runtime/proof"
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
	numberVariable    = "PAWL_KILLS_NUMBER" // the name of a life, which it sends with every request
	receiversVariable = "PAWL_KILLS_RECEIVERS"
)

func TestMain(m *testing.M) {
	proof.Main(m, map[string]func(string) error{
		lifeVariable: func(text string) error {
			var l life
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				return err
			}
			return l.live()
		},
		receiversVariable: receive,
	})
}
