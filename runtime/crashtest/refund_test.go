package crashtest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	if err := pointTools(dir, p.Addr()); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// refundOf is the refund of a ticket, to be crashed.
func refundOf(t *testing.T, ticket string) *crashtest.Config {
	t.Helper()
	folder, err := refund()
	if err != nil {
		t.Fatal(err)
	}
	input, err := os.ReadFile(filepath.Join(example, "tickets", ticket))
	if err != nil {
		t.Fatal(err)
	}
	program, err := quick()
	if err != nil {
		t.Fatal(err)
	}
	return &crashtest.Config{
		Workflow: folder, Input: input, Receivers: startServices,
		Child: func(dir string, _ crashtest.Receivers) (*exec.Cmd, error) { return childOf(program, dir), nil },
	}
}

// The order has two identical items, so two equal refunds are rightful.
//
// Seen red with the intent's barrier removed: H1, H2 and H3 of every write and of
// the charged read, and most of their H4, by the calls charged before the resume,
// the budgets at the end, requests that had left too early, and second holds and
// mails. (An H4 escapes when an urgent receipt before it takes the intent along.)
//
// Seen red with open calls sent again without asking: H3, H4 and the points after
// the write of orders.hold and mail.send, by a second hold and a second mail; H3
// and H4 of pay.refund by a sending too many.
//
// Seen red with the charge dropped from the intent: every row but H0 of the first
// call, by the calls charged before the resume.
func TestTheRefundSurvivesEveryKill(t *testing.T) {
	long(t)
	t.Parallel()
	c := refundOf(t, "t3.json")
	c.Progress = func(r *crashtest.Row) {
		t.Logf("%-28s %5.1fs  resumed from %-8s  seq %2d  %v", r.Name, r.Took.Seconds(), r.ResumedFrom, r.Seq, r.Mismatches)
	}
	report, err := crashtest.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		for _, m := range row.Mismatches {
			t.Errorf("%s: %s", row.Name, m)
		}
		if row.OutputEqual == (row.Waits != "") || !row.BudgetsExact {
			t.Errorf("%s: output equal %v, budgets exact %v", row.Name, row.OutputEqual, row.BudgetsExact)
		}
	}
	// 8 calls with 6 points each, but one is a read that charges nothing; 4 steps
	// with a checkpoint and a last write each.
	if got, want := report.Summary(), (crashtest.Summary{Boundaries: 8*6 - 1 + 4 + 2*4}); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	effects := map[string]int{"tickets.claim": 1, "orders.hold": 1, "tickets.note": 1, "pay.refund": 2, "mail.send": 1}
	for _, row := range report.Rows {
		if diff := cmp.Diff(effects, row.Effects); diff != "" {
			t.Errorf("%s: effects:\n%s", row.Name, diff)
		}
	}
	t.Run("a checkpoint after every step", func(t *testing.T) { checkpointsRise(t, report) })
}

// checkpointsRise looks at the documents that a fresh process read after each
// step's end.
func checkpointsRise(t *testing.T, report *crashtest.Report) {
	var next []string
	var seq uint64
	for _, row := range report.Rows {
		if row.Point != crashtest.H6 {
			continue
		}
		next = append(next, row.ResumedFrom)
		if row.Seq <= seq {
			t.Errorf("%s: seq %d after %d", row.Name, row.Seq, seq)
		}
		seq = row.Seq
	}
	if diff := cmp.Diff([]string{"lookup", "draft", "send", ""}, next); diff != "" {
		t.Errorf("resume_from after each step:\n%s", diff)
	}
}
