package crashtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report is what became of all rows.
type Report struct {
	// Clean is the run that nothing happened to.
	Clean Clean
	// Rows are in the order of the matrix: the points around the last write of
	// each step, then all points along the run.
	Rows []*Row
	// Lies are the tools whose receivers are not what they are declared to be, one
	// lie for each.
	Lies []Lie
	// LeftOut says which rows there are not, and why; empty if none are missing.
	LeftOut string
	Took    time.Duration
}

// leaveOut names the tools that cannot be held.
func (r *Report) leaveOut(m *maker) {
	silent := map[string]bool{}
	for _, b := range m.points {
		if m.held && b.Silent && !b.Stored && b.Try > 0 {
			silent[b.Tool] = true
		}
	}
	if len(silent) > 0 {
		r.LeftOut = "H2 and H3 of " + strings.Join(slices.Sorted(maps.Keys(silent)), ", ") + ": the tool does not announce its sending"
	}
}

// Clean is the run that the others are compared with.
type Clean struct {
	Output  json.RawMessage
	Effects map[string]int // by tool
	Took    time.Duration
}

// Row is one boundary: a run killed there and resumed.
type Row struct {
	// Name says where, such as "H3 send/0 pay.refund" or "E7 send mail.send".
	Name string
	// Point, Step, Call (from 0, or -1) and Tool say it in parts.
	Point Point
	Step  string
	Call  int
	Tool  string
	// ResumedFrom is the step that the document named before the resume; empty
	// if the run had ended.
	ResumedFrom string
	// Seq is the document's sequence number before the resume.
	Seq uint64
	// Effects are the receivers' in all, by tool.
	Effects map[string]int
	// Duplicates and Lost count effects that happened more or less often than in
	// the clean run.
	Duplicates, Lost int
	// Waits says why the run waits for a person, where it must, such as
	// "pay.charge is once"; empty if it came to its end. What has not happened yet
	// is not lost then, and there is no output.
	Waits string
	// OutputCompared says whether there is an output to compare with that of the
	// clean run; OutputEqual whether they are equal.
	OutputCompared, OutputEqual bool
	// BudgetsExact says that the budgets are those of the clean run, with what the
	// kill may cost added.
	BudgetsExact bool
	// Mismatches says in sentences what is not as it must be.
	Mismatches []string
	Took       time.Duration

	lies []Lie
}

// dir is the name of the row's directory.
func (r *Row) dir() string { return strings.NewReplacer(" ", "-", "/", "-").Replace(r.Name) }

// OK reports whether the row is as it must be.
func (r *Row) OK() bool { return len(r.Mismatches) == 0 }

// Summary counts a report.
type Summary struct {
	Boundaries int `json:"boundaries"`
	Duplicates int `json:"duplicates"`
	Lost       int `json:"lost"`
	// Mismatches is the number of rows that are not as they must be, whatever
	// the reason.
	Mismatches int `json:"mismatches"`
	// Waiting is the number of rows whose run waits for a person, as it must.
	Waiting int `json:"waiting"`
}

// Summary sums the rows up.
func (r *Report) Summary() Summary {
	s := Summary{Boundaries: len(r.Rows)}
	for _, row := range r.Rows {
		s.Duplicates += row.Duplicates
		s.Lost += row.Lost
		if !row.OK() {
			s.Mismatches++
		}
		if row.Waits != "" {
			s.Waiting++
		}
	}
	return s
}

// Waiting lists why runs wait for a person, where they must, each reason once.
func (r *Report) Waiting() (why []string) {
	for _, row := range r.Rows {
		if row.Waits != "" && !slices.Contains(why, row.Waits) {
			why = append(why, row.Waits)
		}
	}
	slices.Sort(why)
	return why
}
