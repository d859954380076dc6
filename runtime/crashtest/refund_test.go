package crashtest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
)

// startServices starts the refund example's receivers for one run.
func startServices(ctx context.Context, dir string) (crashtest.Receivers, error) {
	program, err := services()
	if err != nil {
		return nil, err
	}
	p, err := fakes.Start(ctx, program, filepath.Join(dir, "ledger"))
	if err != nil {
		return nil, err
	}
	return p, pointTools(dir, p.Addr())
}

func config(t *testing.T, ticket string) *crashtest.Config {
	t.Helper()
	folder, err := refund()
	if err != nil {
		t.Fatal(err)
	}
	input, err := os.ReadFile(filepath.Join(example, "tickets", ticket))
	if err != nil {
		t.Fatal(err)
	}
	return &crashtest.Config{Workflow: folder, Input: input, Receivers: startServices}
}

func TestTheRefundSurvivesEveryKill(t *testing.T) {
	t.Parallel()
	c := config(t, "t3.json")
	c.Progress = func(r *crashtest.Row) {
		t.Logf("%-28s %6dms from %-9s seq %2d %v dup %d lost %d %v", r.Name, r.Took.Milliseconds(), r.ResumedFrom, r.Seq, r.Effects, r.Duplicates, r.Lost, r.Mismatches)
	}
	report, err := crashtest.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report.Summary(), report.Took, report.Clean.Took)
	for _, row := range report.Rows {
		for _, m := range row.Mismatches {
			t.Errorf("%s: %s", row.Name, m)
		}
	}
}
