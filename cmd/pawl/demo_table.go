package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// demoProgress writes a line per row while the matrix is made.
type demoProgress struct {
	g     *Globals
	paint painter
	rows  int
	done  int
}

func (p *demoProgress) say(format string, args ...any) {
	if !p.g.JSON {
		fmt.Fprintf(p.g.stderr, format+"\n", args...)
	}
}

func (p *demoProgress) begin(rows int) {
	p.rows = rows
	p.say("The clean run is done. %d boundaries, %d at a time:", rows, demoParallel)
}

func (p *demoProgress) row(r *crashtest.Row) {
	p.done++
	verdict := p.paint.in(green, "ok")
	if !r.OK() {
		verdict = p.paint.in(red, "MISMATCH: "+strings.Join(r.Mismatches, "; "))
	}
	p.say("%3d/%d  %-26s  %5.1fs  %s", p.done, p.rows, r.Name, r.Took.Seconds(), verdict)
}

// demoRow is a row as programs read it.
type demoRow struct {
	Boundary     string         `json:"boundary"`
	ResumedFrom  string         `json:"resumed_from"`
	Effects      map[string]int `json:"effects"` // by ledger
	Duplicates   int            `json:"duplicates"`
	Lost         int            `json:"lost"`
	OutputEqual  bool           `json:"output_equal"`
	BudgetsExact bool           `json:"budgets_exact"`
	Mismatches   []string       `json:"mismatches"`
}

// printDemo writes what became of all rows; the summary comes last.
func (g *Globals) printDemo(report *crashtest.Report) error {
	if g.JSON {
		for _, r := range report.Rows {
			row := demoRow{
				r.Name, r.ResumedFrom, perLedger(r.Effects), r.Duplicates, r.Lost, r.OutputEqual, r.BudgetsExact,
				append([]string{}, r.Mismatches...),
			}
			if err := g.printJSON(row); err != nil {
				return err
			}
		}
		return g.printJSON(report.Summary())
	}
	if err := writeDemoTable(g.stdout, report); err != nil {
		return err
	}
	return writeDemoSummary(g.stdout, g.paint(g.stdout), report)
}

// perLedger counts effects by ledger: each service keeps one, and the tools
// that reach it begin with its name.
func perLedger(effects map[string]int) map[string]int {
	n := map[string]int{}
	for tool, count := range effects {
		service, _, _ := strings.Cut(tool, ".")
		n[service] += count
	}
	return n
}

// demoLegend says what the boundaries are called.
const demoLegend = `
H0 before the intent, H1 intent durable and nothing sent, H2 sent and not applied, H3 applied and answer lost,
H4 answer in memory, H5 receipt durable, H6 checkpoint durable; E1, E2 ... before and after the last write of each step.
A read that charges nothing has no H1: it is sent without waiting for its intent.
`

func writeDemoTable(out io.Writer, report *crashtest.Report) error {
	if _, err := io.WriteString(out, demoLegend); err != nil {
		return err
	}
	ledgers := slices.Sorted(maps.Keys(perLedger(report.Clean.Effects)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nboundary\tresumed from\t%s\tduplicates\toutput\tbudgets\n", strings.Join(ledgers, "\t"))
	writeDemoRow(w, "(clean run)", "-", ledgers, report.Clean.Effects, "-", "-", "-")
	for _, r := range report.Rows {
		from := r.ResumedFrom
		if from == "" {
			from = "(ended)"
		}
		writeDemoRow(w, r.Name, from, ledgers, r.Effects, fmt.Sprint(r.Duplicates), either(r.OutputEqual, "equal", "DIFFERS"),
			either(r.BudgetsExact, "exact", "DIFFER"))
	}
	return w.Flush()
}

func writeDemoRow(w io.Writer, name, from string, ledgers []string, effects map[string]int, rest ...string) {
	cells := []string{name, from}
	counts := perLedger(effects)
	for _, l := range ledgers {
		cells = append(cells, fmt.Sprint(counts[l]))
	}
	fmt.Fprintln(w, strings.Join(append(cells, rest...), "\t"))
}

func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

func writeDemoSummary(out io.Writer, paint painter, report *crashtest.Report) error {
	for _, r := range report.Rows {
		for _, m := range r.Mismatches {
			fmt.Fprintf(out, "%s  %s: %s\n", paint.in(red, "MISMATCH"), r.Name, m)
		}
	}
	s := report.Summary()
	colour := green
	if s.Mismatches > 0 {
		colour = red
	}
	text := fmt.Sprintf("%d boundaries, %d duplicates, %d lost, %d mismatches", s.Boundaries, s.Duplicates, s.Lost, s.Mismatches)
	_, err := fmt.Fprintf(out, "\n%s in %s\n", paint.in(colour, text), report.Took.Round(100*time.Millisecond))
	return err
}
