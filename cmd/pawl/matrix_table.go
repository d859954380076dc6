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
	// blind says that nobody knows what the receivers did.
	blind bool
	// clear makes the mismatches readable, if it is set.
	clear func(text string) string
	rows  int
	done  int
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
	if p.clear != nil {
		for i := range r.Mismatches {
			r.Mismatches[i] = p.clear(r.Mismatches[i])
		}
	}
	verdict := p.paint.in(green, "ok")
	if !r.OK() {
		verdict = p.paint.in(red, "MISMATCH: "+plain(r.Mismatches[0])) // the others are told at the end
	} else if r.Waits != "" {
		verdict += ", waits for a person"
	}
	p.say("%3d/%d  %-26s  %5.1fs  %s", p.done, p.rows, r.Name, r.Took.Seconds(), verdict)
}

// matrixRow is a row as programs read it. What nobody knows is left out.
type matrixRow struct {
	Boundary     string         `json:"boundary"`
	ResumedFrom  string         `json:"resumed_from"`
	Effects      map[string]int `json:"effects,omitempty"` // by ledger
	Duplicates   *int           `json:"duplicates,omitempty"`
	Lost         *int           `json:"lost,omitempty"`
	Waits        string         `json:"waits,omitempty"`
	OutputEqual  *bool          `json:"output_equal,omitempty"`
	BudgetsExact bool           `json:"budgets_exact"`
	Mismatches   []string       `json:"mismatches"`
}

// matrixSummary is the last line for programs.
type matrixSummary struct {
	Boundaries int  `json:"boundaries"`
	Duplicates *int `json:"duplicates,omitempty"`
	Lost       *int `json:"lost,omitempty"`
	Mismatches int  `json:"mismatches"`
	Waiting    int  `json:"waiting"`
	Lies       int  `json:"lies"`
}

func (p *matrixView) rowOf(r *crashtest.Row) *matrixRow {
	row := &matrixRow{
		Boundary: r.Name, ResumedFrom: r.ResumedFrom, Waits: r.Waits, BudgetsExact: r.BudgetsExact,
		Mismatches: append([]string{}, r.Mismatches...),
	}
	if !p.blind {
		row.Effects, row.Duplicates, row.Lost = p.perColumn(r.Effects), &r.Duplicates, &r.Lost
	}
	if r.OutputCompared {
		row.OutputEqual = &r.OutputEqual
	}
	return row
}

func (p *matrixView) summaryOf(report *crashtest.Report) *matrixSummary {
	s := report.Summary()
	m := &matrixSummary{Boundaries: s.Boundaries, Mismatches: s.Mismatches, Waiting: s.Waiting, Lies: len(report.Lies)}
	if !p.blind {
		m.Duplicates, m.Lost = &s.Duplicates, &s.Lost
	}
	return m
}

// print writes what became of all rows, and which tools are not what they are
// declared to be; the summary comes last.
func (p *matrixView) print(report *crashtest.Report) error {
	if p.g.JSON {
		for _, r := range report.Rows {
			if err := p.g.printJSON(p.rowOf(r)); err != nil {
				return err
			}
		}
		for _, l := range report.Lies {
			if err := p.g.printJSON(map[string]crashtest.Lie{"lie": l}); err != nil {
				return err
			}
		}
		return p.g.printJSON(p.summaryOf(report))
	}
	if err := p.writeTable(p.g.stdout, report); err != nil {
		return err
	}
	return p.writeSummary(p.g.stdout, report)
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

// The legend of a matrix says what the boundaries are called.
const (
	matrixLegend = `
H0 before the intent, H1 intent durable and nothing sent, H2 sent and not applied, H3 applied and answer lost,
H4 answer in memory, H5 receipt durable, H6 checkpoint durable; E1, E2 ... before and after the last write of each step.
A read that charges nothing has no H1: it is sent without waiting for its intent. A further try or attempt has points of its own:
retry behind a try that came to nothing, wait and park while the run waits, begin with the attempt begun.
`
	faultLegend = `Nothing is killed in the rows lost, commit-hang, commit-500 and 500-no-commit: there the receiver goes wrong.
`
)

func (p *matrixView) writeTable(out io.Writer, report *crashtest.Report) error {
	legend := matrixLegend
	if slices.ContainsFunc(report.Rows, func(r *crashtest.Row) bool { return r.Point == crashtest.Fault }) {
		legend += faultLegend
	}
	if _, err := io.WriteString(out, legend); err != nil {
		return err
	}
	ledgers := slices.Sorted(maps.Keys(p.perColumn(report.Clean.Effects)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := append([]string{"boundary", "resumed from"}, ledgers...)
	fmt.Fprintf(w, "\n%s\tduplicates\toutput\tbudgets\n", strings.Join(head, "\t"))
	p.writeRow(w, "(clean run)", "-", ledgers, report.Clean.Effects, "-", "-", "-")
	for _, r := range report.Rows {
		p.writeRow(w, r.Name, resumedFrom(r), ledgers, r.Effects, p.duplicates(r), outputOf(r), either(r.BudgetsExact, "exact", "DIFFER"))
	}
	return w.Flush()
}

func resumedFrom(r *crashtest.Row) string {
	switch {
	case r.Point == crashtest.Fault:
		return "-" // nothing was killed
	case r.ResumedFrom == "":
		return "(ended)"
	}
	return r.ResumedFrom
}

func (p *matrixView) duplicates(r *crashtest.Row) string {
	if p.blind {
		return "-"
	}
	return fmt.Sprint(r.Duplicates)
}

func outputOf(r *crashtest.Row) string {
	switch {
	case r.Waits != "":
		return "waits"
	case !r.OutputCompared:
		return "-"
	}
	return either(r.OutputEqual, "equal", "DIFFERS")
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

// writeSummary says what is not as it must be, each thing once.
func (p *matrixView) writeSummary(out io.Writer, report *crashtest.Report) error {
	paint := p.g.paint(out)
	var wrong []string
	rows := map[string][]string{}
	for _, r := range report.Rows {
		for _, m := range r.Mismatches {
			if rows[m] == nil {
				wrong = append(wrong, m)
			}
			rows[m] = append(rows[m], r.Name)
		}
	}
	for _, m := range wrong {
		fmt.Fprintf(out, "%s  %s: %s\n", paint.in(red, "MISMATCH"), strings.Join(rows[m], ", "), plain(m))
	}
	for _, l := range report.Lies {
		fmt.Fprintf(out, "%s  %s\n", paint.in(red, "LIE"), plain(l.String()))
	}
	s := report.Summary()
	colour := green
	if s.Mismatches > 0 || len(report.Lies) > 0 {
		colour = red
	}
	text := fmt.Sprintf("%d boundaries, ", s.Boundaries)
	if !p.blind {
		text += fmt.Sprintf("%d duplicates, %d lost, ", s.Duplicates, s.Lost)
	}
	text += fmt.Sprintf("%d mismatches", s.Mismatches)
	if n := len(report.Lies); n > 0 {
		text += fmt.Sprintf(", %d lies", n)
	}
	_, err := fmt.Fprintf(out, "\n%s in %s\n", paint.in(colour, text), report.Took.Round(100*time.Millisecond))
	if err == nil && s.Waiting > 0 {
		_, err = fmt.Fprintf(out, "In %d of them the run waits for a person, as it must: %s.\n", s.Waiting, plain(strings.Join(report.Waiting(), "; ")))
	}
	return err
}
