package browsertest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What the other tests rely on: whatever goes wrong in a tab is heard.
func TestWhatGoesWrongInATabIsHeard(t *testing.T) {
	t.Parallel()
	const policy = "default-src 'none'; script-src 'self'; img-src 'self' data:; connect-src *"
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	scripts := map[string]string{
		"/console.js": `console.log("hello")`,
		"/throws.js":  `throw new Error("thrown")`,
		"/missing.js": `fetch("/nowhere")`,
		"/foreign.js": `fetch("` + other.URL + `/x", {mode: "no-cors"})`,
		"/dialog.js":  `alert("dialog")`,
		"/drops.js":   `fetch("/drop").catch(() => {})`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		script, isScript := scripts[r.URL.Path]
		switch {
		case isScript:
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(script))
		case r.URL.Path == "/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><title>x</title><link rel="icon" href="data:,">` + r.URL.Query().Get("with")))
		case r.URL.Path == "/drop":
			panic(http.ErrAbortHandler)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	someone := person(t, server.URL)
	first := someone.tab() // its profile lives as long as it does
	first.open("/page")
	for with, want := range map[string]string{
		"":                                     "",
		"<script src=console.js></script>":     "the console was told",
		"<script src=throws.js></script>":      "an exception",
		"<script src=missing.js></script>":     "/nowhere answered 404",
		"<script src=foreign.js></script>":     "a request to another origin: " + other.URL + "/x",
		"<script src=dialog.js></script>":      "a dialog: dialog",
		"<script src=drops.js></script>":       "/drop failed",
		"<img src=x onerror=alert(1)>":         "Content Security Policy",
		"<script>window.ran = true</script>":   "Content Security Policy",
		"<p style='color:red'>red</p>":         "Content Security Policy",
		"<img src='http://192.0.2.1/pixel'>":   "Content Security Policy",
		"<iframe src='https://192.0.2.1/'></>": "Content Security Policy",
	} {
		t.Run(with, func(t *testing.T) {
			p := someone.tab()
			p.open("/page?with=" + strings.ReplaceAll(with, " ", "+"))
			if want != "" {
				p.hears(t, want)
			}
		})
	}
}
