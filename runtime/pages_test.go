package runtime_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// all is what q selects, page by page.
func all(t *testing.T, engine *pawl.Engine, q pawl.Query) (runs []pawl.Summary) {
	t.Helper()
	for {
		page, err := engine.List(&q)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, page.Items...)
		if q.After != "" && page.Next == q.After {
			t.Fatal("a page leads to itself")
		}
		if q.After = page.Next; q.After == "" {
			return runs
		}
	}
}

// agree compares what lists tell of all runs with their documents: the runs,
// how they stand, and how many stand so. Runs that move meanwhile may differ.
// Every test's store is looked at like this at the end.
//
// Seen red, in tests of other things, with lists that pass over a held store,
// over pins, over a stop in good order, and over a failure's code.
func agree(engine *pawl.Engine) error {
	counted, listed := map[string]int{}, map[string]int{}
	q := pawl.Query{}
	for {
		page, err := engine.List(&q)
		if err != nil {
			return err
		}
		for _, r := range page.Items {
			key := ""
			if r.Unreadable == "" {
				c, err := document(engine, r.Run)
				if err != nil {
					return err
				}
				want := pawl.Summary{
					Run: c.Run, ExternalID: c.ExternalID, Title: c.Title, Labels: c.Labels, Workflow: c.Workflow, Seq: c.Seq, State: c.State,
					Reasons: c.Reasons, ResumeFrom: c.ResumeFrom, Started: c.Started, Updated: c.Updated,
				}
				if diff := cmp.Diff(want, r); diff != "" {
					return errors.New("the document and the list: " + diff)
				}
				key = standing(c.State, c.Reasons)
			} else {
				key = " unreadable"
			}
			listed[key]++
		}
		if q.After == "" {
			for _, c := range page.Counts {
				counted[string(c.State)+" "+c.Reason] = c.Runs
			}
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if diff := cmp.Diff(listed, counted); diff != "" {
		return errors.New("what is listed and what is counted: " + diff)
	}
	return nil
}

func standing(state pawl.RunState, reasons []pawl.Reason) string {
	if len(reasons) == 0 {
		return string(state) + " "
	}
	return string(state) + " " + reasons[0].Code
}

func document(engine *pawl.Engine, ref string) (*pawl.Checkpoint, error) {
	run, err := engine.Find(ref)
	if err != nil {
		return nil, err
	}
	return run.Checkpoint()
}

// agree makes sure of it once runs that move have come to rest.
func (b *bundle) agree() {
	b.t.Helper()
	var err error
	for range 200 {
		if err = agree(b.engine); err == nil || b.damaged || errors.Is(err, pawl.ErrUnavailable) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Error(err)
}
