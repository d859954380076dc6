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

// matrixView shows a crash matrix: a line per row while it is made, and a table
// or lines of JSON of what became of it.
type matrixView struct {
	g        *Globals
	paint    painter // of standard error
	parallel int
	// column is the ledger in which the effects of a tool are counted.
	column func(tool string) string
	rows   int
	done   int
}

func newMatrixView(g *Globals, parallel int, column func(tool string) string) *matrixView {
	return &matrixView{g: g, paint: g.paint(g.stderr), parallel: parallel, column: column}
}

func (p *matrixView) say(format string, args ...any) {
	if !p.g.JSON {
		fmt.Fprintf(p.g.stderr, format+"\n", args...)
	}
}

func (p *matrixView) begin(rows int) {
	p.rows = rows
	p.say("The clean run is done. %d boundaries, %d at a time:", rows, p.parallel)
}

func (p *matrixView) row(r *crashtest.Row) {
	p.done++
	verdict := p.paint.in(green, "ok")
	if !r.OK() {
		verdict = p.paint.in(red, "MISMATCH: "+strings.Join(r.Mismatches, "; "))
	}
	p.say("%3d/%d  %-26s  %5.1fs  %s", p.done, p.rows, r.Name, r.Took.Seconds(), verdict)
}

// matrixRow is a row as programs read it.
type matrixRow struct {
	Boundary     string         `json:"boundary"`
	ResumedFrom  string         `json:"resumed_from"`
	Effects      map[string]int `json:"effects"` // by ledger
	Duplicates   int            `json:"duplicates"`
	Lost         int            `json:"lost"`
	OutputEqual  bool           `json:"output_equal"`
	BudgetsExact bool           `json:"budgets_exact"`
	Mismatches   []string       `json:"mismatches"`
}

// print writes what became of all rows, and which tools are not what they are
// declared to be; the summary comes last.
func (p *matrixView) print(report *crashtest.Report) error {
	if p.g.JSON {
		for _, r := range report.Rows {
			row := matrixRow{
				r.Name, r.ResumedFrom, p.perColumn(r.Effects), r.Duplicates, r.Lost, r.OutputEqual, r.BudgetsExact,
				append([]string{}, r.Mismatches...),
			}
			if err := p.g.printJSON(row); err != nil {
				return err
			}
		}
		for _, l := range report.Lies {
			if err := p.g.printJSON(map[string]crashtest.Lie{"lie": l}); err != nil {
				return err
			}
		}
		return p.g.printJSON(report.Summary())
	}
	if err := p.writeTable(p.g.stdout, report); err != nil {
		return err
	}
	return writeMatrixSummary(p.g.stdout, p.g.paint(p.g.stdout), report)
}

// end prints the report. A row that is not as it must be makes the exit status.
func (p *matrixView) end(report *crashtest.Report) error {
	if err := p.print(report); err != nil {
		return err
	}
	if report.Summary().Mismatches > 0 {
		return exitStatus(statusFailed)
	}
	return nil
}

// perColumn counts effects by ledger.
func (p *matrixView) perColumn(effects map[string]int) map[string]int {
	n := map[string]int{}
	for tool, count := range effects {
		n[p.column(tool)] += count
	}
	return n
}

// serviceOf is the ledger of a tool of the example: each service keeps one, and
// the tools that reach it begin with its name.
func serviceOf(tool string) string {
	service, _, _ := strings.Cut(tool, ".")
	return service
}

// matrixLegend says what the boundaries are called.
const matrixLegend = `
H0 before the intent, H1 intent durable and nothing sent, H2 sent and not applied, H3 applied and answer lost,
H4 answer in memory, H5 receipt durable, H6 checkpoint durable; E1, E2 ... before and after the last write of each step.
A read that charges nothing has no H1: it is sent without waiting for its intent. A further try or attempt has points of its own:
retry behind a try that came to nothing, wait and park while the run waits, begin with the attempt begun. Nothing is killed in the rows
lost, commit-hang, commit-500 and 500-no-commit: there the receiver goes wrong.
`

func (p *matrixView) writeTable(out io.Writer, report *crashtest.Report) error {
	if _, err := io.WriteString(out, matrixLegend); err != nil {
		return err
	}
	ledgers := slices.Sorted(maps.Keys(p.perColumn(report.Clean.Effects)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nboundary\tresumed from\t%s\tduplicates\toutput\tbudgets\n", strings.Join(ledgers, "\t"))
	p.writeRow(w, "(clean run)", "-", ledgers, report.Clean.Effects, "-", "-", "-")
	for _, r := range report.Rows {
		from := r.ResumedFrom
		switch {
		case r.Point == crashtest.Fault:
			from = "-" // nothing was killed
		case from == "":
			from = "(ended)"
		}
		p.writeRow(w, r.Name, from, ledgers, r.Effects, fmt.Sprint(r.Duplicates), either(r.OutputEqual, "equal", "DIFFERS"),
			either(r.BudgetsExact, "exact", "DIFFER"))
	}
	return w.Flush()
}

func (p *matrixView) writeRow(w io.Writer, name, from string, ledgers []string, effects map[string]int, rest ...string) {
	cells := []string{name, from}
	counts := p.perColumn(effects)
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

func writeMatrixSummary(out io.Writer, paint painter, report *crashtest.Report) error {
	for _, r := range report.Rows {
		for _, m := range r.Mismatches {
			fmt.Fprintf(out, "%s  %s: %s\n", paint.in(red, "MISMATCH"), r.Name, m)
		}
	}
	for _, l := range report.Lies {
		fmt.Fprintf(out, "%s  %s\n", paint.in(red, "LIE"), plain(l.String()))
	}
	s := report.Summary()
	colour := green
	if s.Mismatches > 0 || len(report.Lies) > 0 {
		colour = red
	}
	text := fmt.Sprintf("%d boundaries, %d duplicates, %d lost, %d mismatches", s.Boundaries, s.Duplicates, s.Lost, s.Mismatches)
	_, err := fmt.Fprintf(out, "\n%s in %s\n", paint.in(colour, text), report.Took.Round(100*time.Millisecond))
	return err
}
