package disks_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/pawl-dev/pawl/runtime/proof"
)

// Campaigns are
//
//	go test -timeout 1h ./runtime/proof/disks -args -faults 100 -syncs
var (
	faults = flag.Int("faults", 2, "how often a process loses its disk under a write")
	syncs  = flag.Bool("syncs", false, "let each sync of a process fail, which needs strace")
)

// A process of this test's binary is a life if this is set.
const lifeVariable = "PAWL_DISKS_LIFE"

func TestMain(m *testing.M) {
	proof.Main(m, map[string]func(string) error{lifeVariable: func(text string) error {
		var l life
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return err
		}
		return l.live()
	}})
}
