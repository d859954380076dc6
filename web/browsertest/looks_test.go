package browsertest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/pawl-dev/pawl/host/toolfile"
	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes"
)

//go:embed testdata/contrast.js
var contrast string

// theme sets what the person's system prefers: light or dark.
func (p *page) theme(name string) {
	p.t.Helper()
	p.do(called(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	}))
}

// gallery makes a world with runs in many states, some with long names.
func gallery(t *testing.T) *world {
	t.Helper()
	browser.needed(t)
	dir := t.TempDir()
	w := &world{t: t, receivers: receive(t, filepath.Join(dir, "ledger"))}
	folders := []string{w.folder(dir, patient...), hostile(t, dir)}
	tools := ""
	for i, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, toolfile.Name))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text = []byte(strings.Replace(string(text), "pawl = 1", "", 1))
		}
		tools += string(text)
	}
	file := filepath.Join(dir, toolfile.Name)
	if err := os.WriteFile(file, []byte(tools), 0o600); err != nil {
		t.Fatal(err)
	}
	w.server = serve(t, filepath.Join(dir, "data"), append(folders, "--tools", file)...)
	return w
}

// long makes an id as long as it may be.
var long = strings.Repeat("-0123456789", 10)

// hang fills the gallery, and returns the pages to look at by the names of their
// pictures.
func (w *world) hang() map[string]string {
	w.t.Helper()
	err := w.receivers.Set(w.t.Context(), fakes.Fault{Tool: "llm.complete", Match: "model is down", Mode: "503", Times: -1})
	if err != nil {
		w.t.Fatal(err)
	}
	pages := map[string]string{
		"runs": "/", "runs-failed": "/?state=failed", "runs-none": "/?text=nothing+has+this+name", "workflows": "/workflows",
		"start": "/workflows/refund/start", "start-json": "/workflows/refund/start?as=json", "start-long": "/workflows/hostile/start",
		"health": "/health", "problem": "/runs/nothing",
	}
	hang := func(workflow, id, input string, state pawl.RunState) {
		w.begin(workflow, id, input)
		w.until(id, func(c *pawl.Checkpoint) bool { return c.State == state })
		pages["run-"+strings.TrimSuffix(id, long)] = "/runs/" + id
	}
	ticket := func(id, order, status, item, text string) string {
		return fmt.Sprintf(`{"id":%q,"order":%q,"status":%q,"items":[%q],"text":%q}`, id, order, status, item, text)
	}
	hang("refund", "refund-T1", ticket("T1", "W1001", "open", "cup-blue", "The cup arrived broken."), pawl.StateCompleted)
	hang("refund", "refund-T2", ticket("T2", "W1001", "open", "cup-blue", "The model is down."), pawl.StateWaiting)
	hang("refund", "refund-T4", ticket("T4", "W1004", "closed", "cup-blue", "A closed one."), pawl.StateFailed)
	for end, state := range ends {
		hang("hostile", "hostile-"+end+long, fmt.Sprintf(`{"say":%s,"end":%q}`, shown(probe), end), state)
	}
	return pages
}

// Every page, at a desk and on a phone, by day and by night: each text has the
// contrast that WCAG calls AA, and nobody has to scroll sideways. The pictures
// are for people.
// Seen red with a paler grey, and with long words that do not break.
func TestEveryPageIsReadable(t *testing.T) {
	t.Parallel()
	w := gallery(t)
	p := person(t, w.origin).tab()
	p.expect(404)
	p.readable("empty", "/")
	for name, path := range w.hang() {
		p.readable(name, path)
	}
}

func (p *page) readable(name, path string) {
	p.t.Helper()
	for _, width := range []int64{wide, narrow} {
		for _, theme := range []string{"light", "dark"} {
			as := fmt.Sprintf("%s-%d-%s", name, width, theme)
			p.theme(theme)
			height := int64(high)
			if width == narrow {
				height = narrowHigh
			}
			p.size(width, height)
			p.open(path)
			p.shot(as)
			eval[bool](p, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true; })()`)
			p.fits(as, int(width))
			p.contrasts(as)
		}
	}
}

// fits checks that the page is not wider than its window. A phone says that its
// window is as wide as the page.
func (p *page) fits(name string, window int) {
	p.t.Helper()
	got := eval[struct {
		Page int
		Wide []string
	}](p, `({
		Page: document.documentElement.scrollWidth,
		Wide: [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > `+strconv.Itoa(window+1)+`)
			.map(e => e.tagName + "." + e.className).slice(0, 5),
	})`)
	if got.Page > window {
		p.t.Errorf("%s is %d pixels wide in a window of %d: %v", name, got.Page, window, got.Wide)
	}
}

// contrasts checks every text that is shown.
func (p *page) contrasts(name string) {
	p.t.Helper()
	got := eval[struct {
		Measured int
		Poor     []string
	}](p, contrast)
	if got.Measured < 10 {
		p.t.Errorf("%s: only %d texts were measured", name, got.Measured)
	}
	if n := len(got.Poor); n > 0 {
		p.t.Errorf("%s: %d texts are hard to read: %q", name, n, got.Poor[:min(n, most)])
	}
}
