package browsertest

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pawl-dev/pawl/kv"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

const manyRuns = 100_000

// Among very many runs a person finds one by its state, its text or its label,
// and pages forth without meeting a run twice.
// Seen red with a text that is not asked for, and with a cursor that is not.
func TestRunsAreFoundAmongAHundredThousand(t *testing.T) {
	t.Parallel()
	browser.needed(t)
	data := filepath.Join(t.TempDir(), "data")
	fill(t, data)
	p := person(t, serve(t, data).origin).tab()
	p.open("/") // connections, the style sheet
	p.open("/")
	t.Logf("the first page of %d runs: %s", manyRuns, eval[string](p, `(() => {
		const n = performance.getEntriesByType("navigation")[0];
		return "answered " + Math.round(n.responseEnd - n.requestStart) + " ms after it was asked for, drawn after " + Math.round(n.loadEventEnd) + " ms";
	})()`))
	p.shows(".counts", "100,000")
	p.shot("runs-100000")

	p.filter("state", "failed")
	for _, row := range p.rows(50) {
		if !strings.Contains(row, "failed") {
			t.Errorf("among the failed ones there is %s", row)
		}
	}
	p.open("/")
	p.filter("text", "w012345 of")
	if rows := p.rows(1); !strings.Contains(rows[0], "Order W012345 of") {
		t.Errorf("the text finds %s", rows)
	}
	p.open("/")
	p.filter("label", "order=W099998")
	if rows := p.rows(1); !strings.Contains(rows[0], "Order W099998 of") {
		t.Errorf("the label finds %s", rows)
	}

	p.open("/?state=completed&label=region%3Dus")
	seen := map[string]bool{}
	for range 5 {
		for _, row := range p.rows(50) {
			if !strings.Contains(row, "completed") || !strings.Contains(row, "region: us") {
				t.Errorf("among the completed ones in the US there is %s", row)
			}
			name := row[strings.Index(row, "Order W"):][:len("Order W000000")]
			if seen[name] {
				t.Fatalf("%s is on two pages", name)
			}
			seen[name] = true
		}
		p.goes(`a[rel="next"]`)
	}
	p.goes("nav.paging a") // to the first page
	if first := p.rows(50); !slices.ContainsFunc(first, func(row string) bool { return strings.Contains(row, "region: us") }) {
		t.Error("the first page has lost its filter")
	}
}

// fill makes the store of very many runs.
func fill(t *testing.T, dir string) {
	t.Helper()
	store, err := kv.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := runtimetest.Fill(context.Background(), store, manyRuns); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d runs were written in %d s", manyRuns, int(time.Since(begun).Seconds()))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// filter fills in a field of the filter and presses its button.
func (p *page) filter(field, value string) {
	p.t.Helper()
	if field == "state" {
		p.do(chromedp.SetValue(chromedp.CSS(`[name="state"]`), value))
	} else {
		p.fill(`form.filter [name="`+field+`"]`, value)
	}
	p.goes("form.filter button")
}

// rows are the texts of the runs that the page lists, of which there must be so
// many.
func (p *page) rows(want int) []string {
	p.t.Helper()
	rows := eval[[]string](p, `[...document.querySelectorAll("table.runs tbody tr")].map(e => e.innerText.replace(/\s+/g, " "))`)
	if len(rows) != want {
		p.t.Fatalf("the page lists %d runs, want %d: %q", len(rows), want, rows)
	}
	return rows
}
