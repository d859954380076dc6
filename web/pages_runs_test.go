package web_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/runtimetest"
)

var (
	runLinks   = regexp.MustCompile(`<a href="\./(runs/[0-9A-Z]{26})">`)
	countLinks = regexp.MustCompile(`<a href="\./\./(\?[^"]*state=[^"]*)"[^>]*>[^\n]*?<b class="n">([0-9]+)</b>`)
	nextLink   = regexp.MustCompile(`<a href="\./\./(\?[^"]*)" rel="next">`)
)

// Every count selects as many runs as it says, and what does not go on by itself
// is above the rest.
//
// Seen red with links that leave the reason out.
func TestCountsSelectTheirRuns(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	for _, state := range []pawl.RunState{pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting} {
		f.inState(state)
	}
	f.orphaned("orphan", "W77")
	page := b.page("")
	counts := countLinks.FindAllStringSubmatch(page, -1)
	if len(counts) < 6 {
		t.Fatalf("%d counts in %s", len(counts), page)
	}
	for _, c := range counts {
		link := html.UnescapeString(c[1])
		if got := len(runLinks.FindAllString(b.page(link), -1)); fmt.Sprint(got) != c[2] {
			t.Errorf("%s: %d runs, want %s", link, got, c[2])
		}
	}
	stuck, open, ended := strings.Index(page, `id="g-stuck"`), strings.Index(page, `id="g-open"`), strings.Index(page, `id="g-ended"`)
	if stuck < 0 || open < stuck || ended < open {
		t.Errorf("groups at %d, %d, %d", stuck, open, ended)
	}
	for query, want := range map[string]int{"label=order%3DW77": 1, "label=order%3DW7": 0, "text=W77": 1, "text=REFUND": 5, "workflow=refund": 5, "workflow=x": 0, "text=%3Cb%3E": 0} {
		page := b.page("?" + query)
		if got := len(runLinks.FindAllString(page, -1)); got != want || strings.Contains(page, "No run fits") != (want == 0) || strings.Contains(page, "<b>\"") {
			t.Errorf("%s: %d runs, want %d", query, got, want)
		}
	}
	if status, page := b.get("?cursor=%21"); status != http.StatusUnprocessableEntity || !strings.Contains(page, "All runs") {
		t.Errorf("a cursor that is none: %d %s", status, page)
	}
}

// The links lead from page to page through all runs, with the filter.
//
// Seen red with a next page that forgets the filter.
func TestPagesOfTheListHaveEachRunOnce(t *testing.T) {
	t.Parallel()
	f := setup(t, func(o *pawl.Options) { o.NoRecovery = true })
	if err := runtimetest.Fill(t.Context(), f.store, 120); err != nil {
		t.Fatal(err)
	}
	f.reopen(nil) // an open engine does not see them
	b := f.browse(nil)
	seen := map[string]bool{}
	pages := 0
	for path := "?text=order"; path != ""; pages++ {
		page := b.page(path)
		for _, m := range runLinks.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s is there twice", m[1])
			}
			seen[m[1]] = true
		}
		path = ""
		if m := nextLink.FindStringSubmatch(page); m != nil {
			path = html.UnescapeString(m[1])
			if q, err := url.ParseQuery(path[1:]); err != nil || q.Get("text") != "order" {
				t.Errorf("the next page is %s", path)
			}
		}
	}
	if len(seen) != 120 || pages != 3 {
		t.Errorf("%d runs on %d pages", len(seen), pages)
	}
}

// A body that is too large for the page is cut there, and whole by its link.
//
// Seen red with bodies that are not cut.
func TestLargeBodiesAreCut(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	r := f.start("large", "W1", `"size":200000`)
	f.rest(r)
	page := b.page("runs/" + r.ID())
	m := regexp.MustCompile(`href="\.\./(runs/[^"]*of=request[^"]*)"`).FindStringSubmatch(page)
	if len(page) > 150_000 || m == nil {
		t.Fatalf("%d bytes, link %v", len(page), m)
	}
	if whole := b.page(html.UnescapeString(m[1])); len(whole) < 200_000 || !strings.Contains(whole, "0007") {
		t.Errorf("the whole has %d bytes", len(whole))
	}
	for _, path := range []string{"of=request&step=draft&call=9", "of=x", "of=response&step=none&call=0", "of=request&step=draft&call=-1", "of=output&step=none", "of=request&orphan=0"} {
		if status, _ := b.get("runs/" + r.ID() + "/body?" + path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}
