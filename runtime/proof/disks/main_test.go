package disks_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/pawl-dev/pawl/runtime/proof"
)

// A campaign is
//
//	go test ./runtime/proof/disks -args -faults 100
var faults = flag.Int("faults", 2, "how often a process loses its disk under a write")

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
