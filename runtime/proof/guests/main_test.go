package guests_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/pawl-dev/pawl/runtime/proof"
)

// A process of this test's binary is one life of an engine, if this is set.
const lifeVariable = "PAWL_GUESTS_LIFE"

// Measuring what the compiler needs for the worst modules that the limits let
// through is
//
//	go test ./runtime/proof/guests -run Worst -v -args -worst ROW
var worst = flag.String("worst", "", "the row of the worst modules that is compiled; all for each in turn")

func TestMain(m *testing.M) {
	proof.Main(m, map[string]func(string) error{lifeVariable: func(text string) error {
		var l life
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			return err
		}
		return l.live()
	}})
}
