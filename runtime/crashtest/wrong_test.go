package crashtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/runtime/crashtest"
)

// Workflows that are wrong on purpose: what is wrong is one tool, beside others
// that are right, and the rows that say so are that tool's alone.
//
// Seen red with duplicates that nobody counts, and with lies that nobody tells.
func TestWrongWorkflowsAreCaughtAndTheToolIsNamed(t *testing.T) {
	long(t)
	t.Parallel()
	right := desk{class: "keyed"}
	tests := []struct {
		name  string
		desks map[string]desk
		tool  string            // that is wrong
		at    []crashtest.Point // where it shows, and nowhere else
		says  string            // in a mismatch of each of these rows
		lie   string            // by which its class is called a lie; empty if nothing shows that
	}{
		{
			name:  "a receiver that is said to know keys and applies each request",
			desks: map[string]desk{"read": {class: "read"}, "keyed": {class: "keyed", forgets: true}},
			tool:  "keyed", at: []crashtest.Point{crashtest.H3, crashtest.H4}, says: "1 effects happened once too often",
			lie: "keyed is declared keyed, but its receiver applied the key",
		},
		{
			name: "a verify query that asks for something else, and never finds it",
			desks: map[string]desk{
				"keyed": right,
				"asked": {class: "verify", asks: true, says: func(bool) bool { return false }},
			},
			tool: "asked", at: []crashtest.Point{crashtest.H3, crashtest.H4}, says: "1 effects happened once too often",
			lie: "asked is declared verify, but its verify query did not find the key",
		},
		{
			name: "a verify query that finds something else, always",
			desks: map[string]desk{
				"keyed": right,
				"asked": {class: "verify", asks: true, says: func(bool) bool { return true }},
			},
			tool: "asked", at: []crashtest.Point{crashtest.H1, crashtest.H2}, says: "1 effects are missing",
			lie: "asked is declared verify, but its verify query found a call that had not been applied",
		},
		{
			name:  "a read that writes",
			desks: map[string]desk{"read": {class: "read", writes: true}, "keyed": right},
			tool:  "read", at: []crashtest.Point{crashtest.H3, crashtest.H4}, says: "1 effects happened once too often",
			lie: "read is declared read, but its receiver changed something",
		},
		{
			name:  "a receiver whose answer hangs on how often it was asked",
			desks: map[string]desk{"read": {class: "read", counts: true}, "keyed": right},
			tool:  "read", at: []crashtest.Point{crashtest.H2, crashtest.H3, crashtest.H4}, says: "the output is",
		},
		{
			name:  "a receiver that applies a key once and answers it anew",
			desks: map[string]desk{"read": {class: "read"}, "keyed": {class: "keyed", counts: true}},
			tool:  "keyed", at: []crashtest.Point{crashtest.H2, crashtest.H3, crashtest.H4}, says: "the output is",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var calls string
			for id := range test.desks {
				if id != test.tool {
					calls += `{"call":"` + id + `"},`
				}
			}
			p := &play{
				steps: []string{"[" + calls + `{"call":"` + test.tool + `"}]`}, desks: test.desks,
				points: append([]crashtest.Point{crashtest.H5}, test.at...),
			}
			report, _, err := p.crash(t)
			if err != nil {
				t.Fatal(err)
			}
			caught := 0
			for _, row := range report.Rows {
				said := strings.Join(row.Mismatches, "; ")
				switch wrong := row.Tool == test.tool && slices.Contains(test.at, row.Point); {
				case wrong && strings.Contains(said, test.says):
					caught++
				case wrong:
					t.Errorf("%s is not caught: %q", row.Name, said)
				case !row.OK():
					t.Errorf("%s is right: %s", row.Name, said)
				}
			}
			var lies []string
			for _, lie := range report.Lies {
				lies = append(lies, lie.String())
			}
			if (test.lie == "") != (len(lies) == 0) || len(lies) > 1 || len(lies) == 1 && !strings.HasPrefix(lies[0], test.lie) {
				t.Errorf("lies %q, want %q", lies, test.lie)
			}
			if caught != len(test.at) {
				t.Errorf("caught in %d rows, not %d", caught, len(test.at))
			}
		})
	}
}

// A Go tool that counts in its process's memory: what it answered before the kill
// is in the journal, and the fresh process begins to count anew.
//
// Seen red with outputs that nobody compares.
func TestAToolThatHangsOnItsProcessIsCaught(t *testing.T) {
	t.Parallel()
	p := &play{
		steps:  []string{`[{"call":"read"},{"call":"read"}]`},
		points: []crashtest.Point{crashtest.H0, crashtest.H5},
	}
	report, _, err := p.crash(t)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, row := range report.Rows {
		said := strings.Join(row.Mismatches, "; ")
		got[row.Name] = row.OK()
		if !row.OK() && !strings.Contains(said, "the output is [1,1], clean [1,2]") {
			t.Errorf("%s: %s", row.Name, said)
		}
	}
	want := map[string]bool{"H0 one/0 read": true, "H5 one/0 read": false, "H0 one/1 read": false, "H5 one/1 read": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows that are as they must be:\n%s", diff)
	}
}
