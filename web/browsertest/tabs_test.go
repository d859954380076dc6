package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
)

// A browser opens six connections to a server at most: a seventh page of a panel
// whose every page held one open would load for ever. Tabs of one window are
// hidden but for one; windows all can be seen.
// Seen red with a stream for every page.
func TestSevenPagesOfOneBrowserStayUsable(t *testing.T) {
	t.Parallel()
	for name, windows := range map[string]bool{"tabs": false, "windows": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sevenPages(t, windows)
		})
	}
}

func sevenPages(t *testing.T, windows bool) {
	w := modelDown(t)
	one := person(t, w.origin)
	one.windows = windows
	var pages []*page
	for range 7 {
		p := one.tab()
		p.open("/runs/refund-T1")
		p.shows("main", "begins attempt 2 of draft now")
		p.mark()
		pages = append(pages, p)
	}
	for i, p := range pages {
		p.do(called(cdppage.BringToFront, cdp.Empty{}))
		if hidden := eval[bool](pages[(i+3)%7], "document.hidden"); hidden == windows {
			t.Fatalf("another page is hidden: %v", hidden)
		}
		p.shows("main", fmt.Sprintf("begins attempt %d of draft now", i+2)) // what happened while it was hidden
		w.resume()
		w.rests(i + 2)
		p.shows("main", fmt.Sprintf("begins attempt %d of draft now", i+3)) // and what happens before its eyes
		p.stillMarked()
	}
	pages[0].do(called(cdppage.BringToFront, cdp.Empty{}))
	pages[0].goes("nav a")
	pages[0].shows("main", "Refund W1001")
}
