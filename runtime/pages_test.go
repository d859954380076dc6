package runtime_test

import (
	"testing"

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
		if q.After = page.Next; q.After == "" {
			return runs
		}
	}
}
