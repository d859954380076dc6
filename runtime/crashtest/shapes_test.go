package crashtest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

func childBy(program string) func(string, crashtest.Receivers) (*exec.Cmd, error) {
	return func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) { return childOf(program, dir), nil }
}

// Whatever a right workflow is made of, its matrix is without a mismatch, and
// has the rows that this kind of work is about.
//
// Seen red with a recovery expected of a run that was killed while it was parked.
func TestRightWorkflowsPassWhateverTheyAreMadeOf(t *testing.T) {
	long(t)
	t.Parallel()
	tests := []struct {
		name string
		play play
		rows []string // which there must be, among others
		// refused is how many requests the clean run's receivers turn away.
		refused int
	}{
		{
			name: "every class, one step each",
			play: play{
				steps: []string{
					`[{"call":"read"}]`, `[{"call":"keyed"}]`, `[{"call":"asked"}]`, `[{"call":"once"}]`,
				},
				desks: map[string]desk{
					"read": {class: "read"}, "keyed": {class: "keyed"}, "asked": {class: "verify", asks: true}, "once": {class: "once"},
				},
				points: []crashtest.Point{crashtest.H1, crashtest.H3},
			},
			rows: []string{"H3 one/0 read", "H1 two/0 keyed", "H1 three/0 asked", "H3 four/0 once"},
		},
		{
			name: "equal calls in one step",
			play: play{
				steps:  []string{`[{"call":"keyed","request":{"a":1}},{"call":"keyed","request":{"a":1}}]`},
				desks:  map[string]desk{"keyed": {class: "keyed"}},
				points: []crashtest.Point{crashtest.H3, crashtest.H5},
			},
			rows: []string{"H3 one/0 keyed", "H3 one/1 keyed"},
		},
		{
			name: "a key that the step gives",
			play: play{
				steps:  []string{`[{"call":"keyed","key":"invoice-7"}]`, `[{"call":"keyed","key":"invoice-8"}]`},
				desks:  map[string]desk{"keyed": {class: "keyed"}},
				points: []crashtest.Point{crashtest.H3, crashtest.H4},
			},
			rows: []string{"H3 one/0 keyed", "H4 two/0 keyed"},
		},
		{
			name: "values of the store around a write",
			play: play{
				steps: []string{
					`[{"call":"kv.put","request":{"scope":"run","key":"a","value":1}},{"call":"once"}]`,
					`[{"call":"kv.get","request":{"scope":"run","key":"a"}}]`,
				},
				desks:  map[string]desk{"once": {class: "once"}},
				points: []crashtest.Point{crashtest.H0, crashtest.H5},
			},
			rows: []string{"H5 one/0 kv.put", "H5 one/1 once", "H0 two/0 kv.get", "H5 two/0 kv.get"},
		},
		{
			name: "tries that are turned away first",
			play: play{
				steps: []string{`[{"call":"keyed"}]`},
				desks: map[string]desk{"keyed": {class: "keyed", refuses: 2, more: `retry = { tries = 3, backoff = "1ms" }`}},
			},
			rows:    []string{"H1 one/0 keyed", "retry one/0 keyed try 1", "retry one/0 keyed try 2", "H3 one/0 keyed try 3", "H4 one/0 keyed try 3"},
			refused: 2,
		},
		{
			name: "a step that needs a second attempt, after a write",
			play: play{
				steps:  []string{`[{"call":"once"},{"call":"flaky"}]`},
				retry:  `{ attempts = 3, backoff = "1ms" }`,
				desks:  map[string]desk{"once": {class: "once"}, "flaky": {class: "verify", asks: true, refuses: 1}},
				points: []crashtest.Point{crashtest.H1, crashtest.H3, crashtest.H4, crashtest.Park, crashtest.Begin},
			},
			rows:    []string{"H3 one/0 once", "H4 one/1 flaky", "park one attempt 1", "begin one attempt 2", "H3 one/1 flaky attempt 2"},
			refused: 1,
		},
		{
			name: "two steps that need a second attempt, one for a read",
			play: play{
				steps: []string{`[{"call":"read"},{"call":"asked"}]`, `[{"call":"keyed"}]`},
				retry: `{ attempts = 3, backoff = "1ms" }`,
				desks: map[string]desk{
					"read": {class: "read", refuses: 1}, "asked": {class: "verify", asks: true}, "keyed": {class: "keyed", refuses: 1},
				},
				points: []crashtest.Point{crashtest.H0, crashtest.H1, crashtest.H4, crashtest.Park, crashtest.Begin, crashtest.H6},
			},
			// What turns a repetition away at H1 settles nothing: a person is asked.
			rows:    []string{"H4 one/0 read", "H1 two/0 keyed", "park one attempt 1", "begin two attempt 2", "H4 two/0 keyed attempt 2"},
			refused: 2,
		},
		{
			name: "a receiver that asks for more time than anybody keeps memory for",
			play: play{
				steps:  []string{`[{"call":"keyed"}]`},
				desks:  map[string]desk{"keyed": {class: "keyed", refuses: 2, after: "11", more: `retry = { tries = 3, backoff = "1ms" }`}},
				points: []crashtest.Point{crashtest.Wait},
			},
			rows:    []string{"wait one/0 keyed", "wait one/0 keyed try 2"},
			refused: 2,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report, receivers, err := test.play.crash(t)
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for _, row := range report.Rows {
				rows = append(rows, row.Name)
				for _, m := range row.Mismatches {
					t.Errorf("%s: %s", row.Name, m)
				}
			}
			if len(report.Lies) > 0 {
				t.Errorf("lies: %v", report.Lies)
			}
			for _, want := range test.rows {
				if !slices.Contains(rows, want) {
					t.Errorf("no row %q among:\n%s", want, strings.Join(rows, "\n"))
				}
			}
			if got := receivers.clean().refused; got != test.refused {
				t.Errorf("the clean run was turned away %d times, not %d", got, test.refused)
			}
		})
	}
}
