package browsertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stop is an element that the Tab key leads to.
type stop struct {
	Name    string // its tag, and what tells it from others
	Outline bool   // it shows that it has the focus
	Shown   bool   // it is within the window
}

const focused = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
	const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 && style.outlineColor !== "rgba(0, 0, 0, 0)";
	return {
		Name: [e.tagName, e.getAttribute("href") ?? e.name ?? "", e.innerText?.trim().slice(0, 60) ?? ""].join(" "),
		Outline: outline,
		Shown: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
	};
})()`

// tabsTo presses Tab until it comes to an element whose name contains the text.
// On the way everything that has the focus must show it.
func (p *page) tabsTo(text string) {
	p.t.Helper()
	var way []string
	for range 200 {
		p.do(chromedp.KeyEvent(kb.Tab))
		s := eval[stop](p, focused)
		if way = append(way, s.Name); strings.HasPrefix(s.Name, "BODY") {
			continue // the end, or the browser's own
		}
		if !s.Outline || !s.Shown {
			p.t.Fatalf("%s has the focus and does not show it: %+v", s.Name, s)
		}
		if strings.Contains(s.Name, text) {
			return
		}
	}
	p.t.Fatalf("the Tab key does not lead to %q; its way: %q", text, slices.Compact(way))
}

// The keyboard alone leads to the filters, to a run, and to its action.
// Seen red without an outline.
func TestKeyboardReachesEverything(t *testing.T) {
	t.Parallel()
	w := modelDown(t)
	p := person(t, w.origin).tab()
	p.open("/")
	p.tabsTo("#") // the skip link comes first
	p.do(chromedp.KeyEvent(kb.Enter))
	if at := eval[string](p, "location.hash"); at == "" {
		t.Error("the skip link leads nowhere")
	}
	for _, field := range []string{"state", "reason", "workflow", "label", "text"} {
		p.open("/")
		p.tabsTo(" " + field + " ")
	}
	p.open("/")
	p.tabsTo("Refund W1001")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("the run's page", `location.pathname.includes("/runs/")`)
	p.shows("main", "begins attempt 2 of draft now")
	p.tabsTo("BUTTON")
	p.do(chromedp.KeyEvent(kb.Enter))
	w.rests(2)
	p.shows("main", "begins attempt 3 of draft now")
}

// What a person has opened, has the focus on and scrolled to stays through an
// update.
// Seen red with folds that are not opened again, and with the focus left alone.
func TestLiveUpdateLeavesWhatAPersonDoesAlone(t *testing.T) {
	t.Parallel()
	w := modelDown(t)
	p := person(t, w.origin).tab()
	p.size(wide, 300) // so that there is something to scroll
	p.open("/runs/refund-T1")
	p.shows("main", "begins attempt 2 of draft now")
	eval[bool](p, `(() => {
		const fold = document.querySelector("#part-step-draft details"); // in a part that is about to change
		fold.open = true;
		fold.querySelector("summary").focus();
		fold.scrollIntoView();
		window.old = fold;
		return true;
	})()`)
	p.mark()
	w.resume()
	w.rests(2)
	p.shows("main", "begins attempt 3 of draft now")
	p.stillMarked()
	const now = `(() => {
		const e = document.activeElement, fold = e.closest("details");
		return {Focus: e.tagName + " " + !!e.closest("#part-step-draft"), Open: !!fold?.open, Replaced: fold !== window.old, Scrolled: scrollY > 0};
	})()`
	if got := eval[struct {
		Focus                    string
		Open, Replaced, Scrolled bool
	}](p, now); got.Focus != "SUMMARY true" || !got.Open || !got.Replaced || !got.Scrolled {
		t.Errorf("after the update: %+v", got)
	}
}
