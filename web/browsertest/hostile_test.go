package browsertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host/toolfile"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// probe ends whatever it may stand in, and then tries to be more than text.
const probe = `</textarea></title></script></style>--><i data-probe=x></i><img src=probe onerror="probed=1"><svg onload="probed=1">` +
	`<script>probed=1</script>"'` + "`" + ` onfocus=probed=1 autofocus x="{{.}}\` + "\u202e"

// hostile copies the workflow whose guest and whose receiver say the probe
// wherever they can, to a folder of dir.
func hostile(t *testing.T, dir string) (folder string) {
	t.Helper()
	quoted := shown(probe)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/tell" {
			w.WriteHeader(http.StatusInternalServerError) // nobody knows what came of it
		}
		_, _ = w.Write([]byte("{" + quoted + ":[" + quoted + "]}"))
	}))
	t.Cleanup(receiver.Close)
	folder = copied(t, dir, "hostile")
	inside := strings.Trim(quoted, `"`)
	replace(t, filepath.Join(folder, toolfile.Name), "RECEIVER", strings.TrimPrefix(receiver.URL, "http://"), "PROBE", inside)
	replace(t, filepath.Join(folder, "schema", "input.json"), `"PROBE|^$"`, `"^$"`, "PROBE", inside)
	return folder
}

// ends are the ways in which a hostile run ends, and what its page shows then.
var ends = map[string]pawl.RunState{
	"well": pawl.StateCompleted, "fails": pawl.StateFailed, "panics": pawl.StateFailed, "told": pawl.StateNeedsDecision,
}

// Whatever a guest, a receiver, an author or an address says is shown as it is.
// Seen red with the text of log lines put into the page unescaped.
func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	browser.needed(t)
	dir := t.TempDir()
	s := serve(t, filepath.Join(dir, "data"), hostile(t, dir))
	pages := []string{"/", "/workflows", "/workflows/hostile/start", "/workflows/hostile/start?as=json", "/health"}
	for end, state := range ends {
		input, err := json.Marshal(map[string]string{"say": probe, "end": end})
		if err != nil {
			t.Fatal(err)
		}
		s.begin("hostile", "run-"+end, string(input))
		s.until("run-"+end, func(c *pawl.Checkpoint) bool { return c.State == state })
		pages = append(pages, "/runs/run-"+end)
	}
	escaped := strings.NewReplacer("%", "%25", `"`, "%22", "<", "%3C", ">", "%3E", "#", "%23", "&", "%26", " ", "%20").Replace(probe)
	pages = append(pages, "/?text="+escaped, "/?workflow="+escaped, "/?label=said%3D"+escaped)
	p := person(t, s.origin).tab()
	for _, path := range pages {
		p.open(path)
		p.harmless(path, path != "/health")
	}
	for _, path := range []string{"/runs/" + escaped, "/workflows/" + escaped + "/start", "/" + escaped, "/?cursor=" + escaped, "/?state=" + escaped} {
		for _, status := range []int64{400, 404, 422} {
			p.expect(status)
		}
		p.open(path)
		p.harmless(path, false)
	}
	// What comes live goes another way than what comes with the page.
	p.open("/")
	p.mark()
	s.begin("hostile", "late", `{"say":"late`+strings.Trim(shown(probe), `"`)+`","end":"fails"}`)
	p.shows("main", "late")
	p.stillMarked()
	p.harmless("live", true)
}

// harmless checks that the probe is text wherever it stands in the page, and that
// it does, if the page has to show it.
func (p *page) harmless(path string, shows bool) {
	p.t.Helper()
	eval[bool](p, `(() => { for (const d of document.querySelectorAll("details")) d.open = true; return true; })()`)
	got := eval[struct {
		Elements int
		Ran      bool
		Text     bool
	}](p, `({
		Elements: document.querySelectorAll("[data-probe], [onload], [onerror], [onfocus], img[src='probe'], body script:not([src])").length,
		Ran: "probed" in window,
		Text: document.body.innerText.includes("data-probe") || [...document.querySelectorAll("input, textarea")].some(e => e.value.includes("data-probe")),
	})`)
	if got.Elements > 0 || got.Ran {
		p.t.Errorf("%s: the probe became %d elements; its script ran: %v", path, got.Elements, got.Ran)
	}
	if shows && !got.Text {
		p.t.Errorf("%s does not show the probe at all:\n%s", path, p.text("body"))
	}
}
