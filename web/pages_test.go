package web_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// browser is a person's: it keeps cookies and follows the panel's answers.
type browser struct {
	t      testing.TB
	client *http.Client
	url    string // of the panel's root, with the slash
}

// browse serves the panel of the fixture under a prefix.
func (f *fixture) browse(opts *web.Options) *browser {
	f.t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/ops/pawl/", http.StripPrefix("/ops/pawl", web.Handler(f.engine, opts)))
	server := httptest.NewServer(mux)
	f.t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	client := server.Client()
	client.Jar = jar
	return &browser{f.t, client, server.URL + "/ops/pawl/"}
}

// get returns the page at the path.
func (b *browser) get(path string) (status int, html string) {
	b.t.Helper()
	resp, err := b.client.Get(b.url + path)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.read(resp)
}

// page is get for a page that has to be there.
func (b *browser) page(path string) string {
	b.t.Helper()
	status, html := b.get(path)
	if status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, status, html)
	}
	return html
}

func (b *browser) read(resp *http.Response) (int, string) {
	b.t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// hiddenOf are the hidden fields of a page.
func hiddenOf(html string) url.Values {
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(html, -1) {
		v.Set(m[1], m[2])
	}
	return v
}

// post sends a form and follows where it leads.
func (b *browser) post(path string, form url.Values) (status int, html, at string) {
	b.t.Helper()
	resp, err := b.client.PostForm(b.url+path, form)
	if err != nil {
		b.t.Fatal(err)
	}
	status, html = b.read(resp)
	return status, html, strings.TrimPrefix(resp.Request.URL.String(), b.url)
}

// Every page of every state can be shown, under a prefix.
func TestPagesOfEveryState(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	if html := b.page(""); !strings.Contains(html, "No run yet") {
		t.Errorf("an empty list: %s", html)
	}
	for _, state := range []pawl.RunState{
		pawl.StateCompleted, pawl.StateFailed, pawl.StateNeedsDecision, pawl.StateWaiting, pawl.StateRunning,
	} {
		r := f.inState(state)
		html := b.page("runs/" + r.ID())
		if !strings.Contains(html, "Refund W") || !strings.Contains(html, "Checkpoint document") {
			t.Errorf("%s: %s", state, html)
		}
	}
	for _, path := range []string{"", "workflows", "workflows/refund/start", "health", "?state=failed&text=refund"} {
		b.page(path)
	}
}

// What was shown is what is done: a resume of a page that is old does nothing and
// says so.
//
// Seen red with a resume that leaves out what was seen.
func TestResumeFromThePage(t *testing.T) {
	t.Parallel()
	f := setup(t)
	b := f.browse(nil)
	r := f.inState(pawl.StateWaiting)
	form := hiddenOf(b.page("runs/" + r.ID()))
	f.world.tell("llm.complete", "W1007", "ok")
	status, _, at := b.post("runs/"+r.ID()+"/resume", form)
	if status != http.StatusOK || at != "runs/"+r.ID() {
		t.Fatalf("resume: %d, at %s", status, at)
	}
	if c := f.rest(r); c.State != pawl.StateCompleted || f.world.count("llm.complete", "W1007") != 2 {
		t.Errorf("%s, %d calls", c.State, f.world.count("llm.complete", "W1007"))
	}
	status, html, _ := b.post("runs/"+r.ID()+"/resume", form)
	if status != http.StatusConflict || !strings.Contains(html, "Changed meanwhile") {
		t.Errorf("again: %d %s", status, html)
	}
}
