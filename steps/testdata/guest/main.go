// Command guest is a module of steps for the tests of package steps; it is no
// example for authors.
package main

import (
	"math/rand/v2"
	"time"

	"github.com/pawl-dev/pawl/steps"
)

type order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

var (
	echo  = steps.NewTool[order, order]("test.echo")
	bytes = steps.NewTool[[]byte, []byte]("test.bytes")
)

func init() {
	steps.Handle("echo", func(s *steps.Step, in order) (order, error) {
		s.Log("%s: at %d, random %d", s.Name(), time.Now().UnixMicro(), rand.IntN(1000))
		s.Logger().Warn("now calling", "id", in.ID)
		return echo.Call(s, in, steps.Key("k:"+in.ID))
	})
	steps.Handle("bytes", func(s *steps.Step, in string) (string, error) {
		out, err := bytes.Call(s, []byte(in))
		return string(out), err
	})
	steps.Handle("broken", func(*steps.Step, struct{}) (string, error) {
		var nothing *order
		return nothing.ID, nil
	})
	steps.Handle("greedy", func(*steps.Step, struct{}) (int, error) {
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			all[len(all)-1][5] = 1
		}
	})
}

func main() {}
