package crashtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/pawl-dev/pawl/host"
)

// Main is the TestMain of a package that calls [Matrix] with the default of
// [Config.Child]: started again as a child it is one process of a row, with the
// tools that are made for the row's directory, else it runs the tests. It does
// not return.
//
//	func TestMain(m *testing.M) { crashtest.Main(m, tools) }
//
//	func TestSurvivesEveryKill(t *testing.T) {
//		crashtest.Matrix(t, &crashtest.Config{Workflow: "refund", Input: ticket, Receivers: receivers})
//	}
func Main(m *testing.M, tools func(dir string) (*host.Registry, error)) {
	dir := os.Getenv(ChildVariable)
	if dir == "" {
		os.Exit(m.Run())
	}
	registry, err := tools(dir)
	if err == nil {
		err = Child(context.Background(), &ChildConfig{Tools: registry})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Matrix runs the crash matrix of a workflow as a test with a subtest for each
// row. It fails with each mismatch and each lie, and ends the test where there is
// no matrix.
func Matrix(t *testing.T, c *Config) *Report {
	t.Helper()
	report, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		t.Run(row.Name, func(t *testing.T) {
			for _, m := range row.Mismatches {
				t.Error(m)
			}
		})
	}
	for _, l := range report.Lies {
		t.Error(l)
	}
	if report.LeftOut != "" {
		t.Logf("left out: %s", report.LeftOut)
	}
	s := report.Summary()
	for _, why := range report.Waiting() {
		t.Logf("waits for a person: %s", why)
	}
	t.Logf("%d boundaries, %d duplicates, %d lost, %d mismatches in %s", s.Boundaries, s.Duplicates, s.Lost, s.Mismatches, report.Took)
	return report
}
