package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// demoReport is a report of a good row and this one.
func demoReport(row *crashtest.Row) *crashtest.Report {
	effects := map[string]int{"pay.refund": 1, "orders.get": 1, "orders.hold": 1}
	good := &crashtest.Row{
		Name: "H0 lookup/0 orders.get", ResumedFrom: "lookup", Effects: effects, OutputCompared: true, OutputEqual: true, BudgetsExact: true,
	}
	return &crashtest.Report{
		Clean: crashtest.Clean{Effects: effects}, Rows: []*crashtest.Row{good, row}, Took: 1540 * time.Millisecond,
	}
}

// Seen red with an exit status that looks at duplicates and losses alone, and
// with duplicates and losses exchanged.
func TestWhatTheDemoTellsIsWhatHappened(t *testing.T) {
	t.Parallel()
	const table = `
boundary                resumed from  orders  pay  duplicates  output  budgets
(clean run)             -             2       1    -           -       -
H0 lookup/0 orders.get  lookup        2       1    0           equal   exact
`
	ended := map[string]int{"pay.refund": 1, "orders.get": 1, "orders.hold": 1}
	for name, row := range map[string]struct {
		row    crashtest.Row
		status int
		text   string
		last   string
	}{
		"all is well": {
			crashtest.Row{Name: "H6 send", Effects: ended, OutputCompared: true, OutputEqual: true, BudgetsExact: true},
			0,
			"H6 send                 (ended)       2       1    0           equal   exact\n" +
				"\n2 boundaries, 0 duplicates, 0 lost, 0 mismatches in 1.5s\n",
			`{"boundaries":2,"duplicates":0,"lost":0,"mismatches":0,"waiting":0,"lies":0}`,
		},
		"an effect too many": {
			crashtest.Row{
				Name: "H3 send/0 pay.refund", ResumedFrom: "send", Effects: map[string]int{"pay.refund": 2, "orders.get": 1, "orders.hold": 1},
				Duplicates: 1, OutputCompared: true, OutputEqual: true, BudgetsExact: true, Mismatches: []string{"pay.refund happened twice"},
			},
			1,
			"H3 send/0 pay.refund    send          2       2    1           equal   exact\n" +
				"MISMATCH  H3 send/0 pay.refund: pay.refund happened twice\n" +
				"\n2 boundaries, 1 duplicates, 0 lost, 1 mismatches in 1.5s\n",
			`{"boundaries":2,"duplicates":1,"lost":0,"mismatches":1,"waiting":0,"lies":0}`,
		},
		"an effect too few": {
			crashtest.Row{
				Name: "H2 send/0 pay.refund", ResumedFrom: "send", Effects: map[string]int{"orders.get": 1, "orders.hold": 1},
				Lost: 1, OutputCompared: true, BudgetsExact: true, Mismatches: []string{"pay.refund did not happen", "the output differs"},
			},
			1,
			"H2 send/0 pay.refund    send          2       0    0           DIFFERS  exact\n" +
				"MISMATCH  H2 send/0 pay.refund: pay.refund did not happen\n" +
				"MISMATCH  H2 send/0 pay.refund: the output differs\n" +
				"\n2 boundaries, 0 duplicates, 1 lost, 1 mismatches in 1.5s\n",
			`{"boundaries":2,"duplicates":0,"lost":1,"mismatches":1,"waiting":0,"lies":0}`,
		},
		"a run that waits": {
			crashtest.Row{Name: "H2 send/0 pay.refund", ResumedFrom: "send", Effects: map[string]int{"orders.get": 1, "orders.hold": 1}, Waits: "pay.refund is once", BudgetsExact: true},
			0,
			"H2 send/0 pay.refund    send          2       0    0           waits   exact\n" +
				"\n2 boundaries, 0 duplicates, 0 lost, 0 mismatches in 1.5s\n" +
				"In 1 of them the run waits for a person, as it must: pay.refund is once.\n",
			`{"boundaries":2,"duplicates":0,"lost":0,"mismatches":0,"waiting":1,"lies":0}`,
		},
		"nobody knows": {
			crashtest.Row{Name: "E7 send pay.refund", Mismatches: []string{"not judged: show: it did not end within 1m0s"}},
			1,
			"E7 send pay.refund      (ended)       0       0    0           -  DIFFER\n" +
				"MISMATCH  E7 send pay.refund: not judged: show: it did not end within 1m0s\n" +
				"\n2 boundaries, 0 duplicates, 0 lost, 1 mismatches in 1.5s\n",
			`{"boundaries":2,"duplicates":0,"lost":0,"mismatches":1,"waiting":0,"lies":0}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			g := &Globals{stdout: &out, stderr: &out}
			if status := report(g, newMatrixView(g, demoParallel, serviceOf).end(demoReport(&row.row))); status != row.status {
				t.Errorf("exit status %d, want %d", status, row.status)
			}
			// How wide a column is, is not what this is about.
			if diff := cmp.Diff(squeezed(matrixLegend+table+row.text), squeezed(out.String())); diff != "" {
				t.Error(diff)
			}
			out.Reset()
			g.JSON = true
			if status := report(g, newMatrixView(g, demoParallel, serviceOf).end(demoReport(&row.row))); status != row.status {
				t.Errorf("exit status %d with --json, want %d", status, row.status)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) != 3 || lines[2] != row.last {
				t.Errorf("told: %s", &out)
			}
			var told matrixRow
			if err := json.Unmarshal([]byte(lines[1]), &told); err != nil {
				t.Fatal(err)
			}
			if told.Waits != row.row.Waits || (told.OutputEqual == nil) == row.row.OutputCompared {
				t.Errorf("told: %s", lines[1])
			}
			if told.Boundary != row.row.Name || *told.Duplicates != row.row.Duplicates || *told.Lost != row.row.Lost ||
				!slices.Equal(told.Mismatches, row.row.Mismatches) || !strings.Contains(lines[0], `"mismatches":[]`) {
				t.Errorf("told: %s", &out)
			}
		})
	}
}

// squeezed is text with one blank where there are several.
func squeezed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func TestTheDemoTellsEachRowWhenItIsJudged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newMatrixView(&Globals{stderr: &out}, demoParallel, serviceOf)
	p.begin(2)
	for _, r := range demoReport(&crashtest.Row{Name: "H6 send", Took: time.Second, Mismatches: []string{"a", "b"}}).Rows {
		p.row(r)
	}
	const want = `The clean run is done. 2 boundaries, 2 at a time:
  1/2  H0 lookup/0 orders.get        0.0s  ok
  2/2  H6 send                       1.0s  MISMATCH: a
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
