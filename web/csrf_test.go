package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

const asForm = "Content-Type: application/x-www-form-urlencoded"

// A form is accepted from the page that it was on, and from nowhere else.
//
// Seen red without the token's check, without that of the origin, and with a
// token that does not depend on the cookie.
func TestForms(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serveAt(t, http.StripPrefix(mount, web.Probes(f.engine, nil)))
	token := string(s.get("probe/token").want(t, http.StatusOK).body)
	if again := string(s.get("probe/token").want(t, http.StatusOK).body); again != token {
		t.Errorf("the token of one browser changes: %s, %s", token, again)
	}
	other := serveAt(t, http.StripPrefix(mount, web.Probes(f.engine, nil)))
	foreign := string(other.get("probe/token").want(t, http.StatusOK).body)
	own := s.server.URL
	for name, row := range map[string]struct {
		token  string
		header []string
		status int
	}{
		"the page's own":             {token, []string{asForm, "Origin: " + own, "Sec-Fetch-Site: same-origin"}, 200},
		"the page's own, no headers": {token, []string{asForm}, 200},
		"a charset":                  {token, []string{asForm + "; charset=UTF-8"}, 200},
		"no token":                   {"", []string{asForm}, 403},
		"a token of another browser": {foreign, []string{asForm}, 403},
		"a token that is cut":        {token[1:], []string{asForm}, 403},
		"another site":               {token, []string{asForm, "Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}, 403},
		"another site, old browser":  {token, []string{asForm, "Origin: https://evil.example"}, 403},
		"another port of this host":  {token, []string{asForm, "Origin: http://127.0.0.1:1", "Sec-Fetch-Site: same-site"}, 403},
		"another port, old browser":  {token, []string{asForm, "Origin: http://127.0.0.1:1"}, 403},
		"a frame without an origin":  {token, []string{asForm, "Origin: null"}, 403},
		"text":                       {token, []string{"Content-Type: text/plain"}, 415},
		"JSON":                       {token, []string{asJSON}, 415},
		"no type":                    {token, nil, 415},
	} {
		body := "what=this&csrf=" + token
		if row.token != token {
			body = "what=this&csrf=" + row.token
		}
		r := s.do(s.request(http.MethodPost, "probe/form", body, row.header...))
		if did := string(r.body) == "did this"; r.StatusCode != row.status || did != (row.status == 200) {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
		}
	}
	// The token is no query parameter.
	s.do(s.request(http.MethodPost, "probe/form?csrf="+token, "what=this", asForm)).want(t, http.StatusForbidden)
	// A browser without the cookie.
	s.client.Jar = nil
	s.do(s.request(http.MethodPost, "probe/form", "what=this&csrf="+token, asForm)).want(t, http.StatusForbidden)
	// An empty cookie makes no token that anybody can compute.
	for _, cookie := range []string{"pawl-csrf=", "pawl-csrf=x"} {
		s.do(s.request(http.MethodPost, "probe/form", "what=this&csrf="+token, asForm, "Cookie: "+cookie)).want(t, http.StatusForbidden)
	}
}

// Cookies do not know ports, and can be set for one folder of a site: a cookie of
// the name that somebody else has set, which browsers may send first, makes no
// form useless, and no form good that was not on a page.
//
// Seen red with the first cookie alone looked at.
func TestCookiesOfOthers(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serveAt(t, http.StripPrefix(mount, web.Probes(f.engine, nil)))
	page := s.get("probe/token").want(t, http.StatusOK)
	own, token := page.Cookies()[0].String(), string(page.body)
	own, _, _ = strings.Cut(own, ";")
	other := "pawl-csrf=" + strings.Repeat("A", 26)
	s.client.Jar = nil
	for name, row := range map[string]struct {
		cookies string
		status  int
	}{
		"another one first":  {other + "; " + own, 200},
		"another one last":   {own + "; " + other, 200},
		"no token first":     {"pawl-csrf=x; " + own, 200},
		"only another one":   {other, 403},
		"the own, elsewhere": {strings.Replace(own, "pawl-csrf", "pawl-csrf2", 1), 403},
	} {
		r := s.do(s.request(http.MethodPost, "probe/form", "what=this&csrf="+token, asForm, "Cookie: "+row.cookies))
		if r.StatusCode != row.status {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.body)
		}
	}
}

// A page that was open while the server was started anew can still act, and one
// of a person who has logged out meanwhile cannot.
//
// Seen red with a secret of the process in the token, and without the principal
// in it.
func TestFormOfAnOlderServer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	who := "ana"
	opts := &web.Options{Authorize: func(*http.Request) (pawl.Principal, error) { return pawl.Principal{Name: who}, nil }}
	get := ask(web.Probes(f.engine, opts), http.MethodGet, "/probe/token", nil)
	cookie := get.Result().Cookies()[0]
	post := func() int {
		return ask(web.Probes(f.engine, opts), http.MethodPost, "/probe/form", func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.AddCookie(cookie)
			r.Body = io.NopCloser(strings.NewReader("csrf=" + get.Body.String()))
		}).Code
	}
	if code := post(); code != http.StatusOK {
		t.Errorf("after a restart: %d", code)
	}
	who = "ben"
	if code := post(); code != http.StatusForbidden {
		t.Errorf("as somebody else: %d", code)
	}
}

// The cookie is for this host's pages alone, and over TLS for nothing else.
func TestCookie(t *testing.T) {
	t.Parallel()
	h := web.Probes(setup(t).engine, nil)
	plain := ask(h, http.MethodGet, "/probe/token", nil).Result().Cookies()
	if len(plain) != 1 || plain[0].Secure || !plain[0].HttpOnly || plain[0].SameSite != http.SameSiteStrictMode || plain[0].Path != "/" || plain[0].Domain != "" {
		t.Errorf("%v", plain)
	}
	r := httptest.NewRequest(http.MethodGet, "https://localhost/probe/token", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	tls := w.Result().Cookies()
	if len(tls) != 1 || !tls[0].Secure || tls[0].Name != "__Host-pawl-csrf" || tls[0].Path != "/" || tls[0].Domain != "" {
		t.Errorf("%v", tls)
	}
}

// What a browser sends for a page of another site changes nothing through the
// API.
//
// Seen red without the check of the origin, and of the media type.
func TestAPIAndOtherSites(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	body := startBody("X", order)
	for name, row := range map[string]struct {
		header []string
		status int
		code   string
	}{
		"a form":                     {[]string{asForm}, 415, "unsupported_media_type"},
		"text that is JSON":          {[]string{"Content-Type: text/plain"}, 415, "unsupported_media_type"},
		"several parts":              {[]string{"Content-Type: multipart/form-data; boundary=x"}, 415, "unsupported_media_type"},
		"no type":                    {nil, 415, "unsupported_media_type"},
		"a type like JSON's":         {[]string{"Content-Type: application/jsonp"}, 415, "unsupported_media_type"},
		"text with JSON as a detail": {[]string{"Content-Type: text/plain; application/json"}, 415, "unsupported_media_type"},
		"another site":               {[]string{asJSON, "Sec-Fetch-Site: cross-site", "Origin: https://evil.example"}, 403, "cross_origin"},
		"another site, old browser":  {[]string{asJSON, "Origin: https://evil.example"}, 403, "cross_origin"},
		"another port of this host":  {[]string{asJSON, "Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:1"}, 403, "cross_origin"},
		"no origin to tell":          {[]string{asJSON, "Origin: null"}, 403, "cross_origin"},
	} {
		for _, path := range []string{"runs", "runs/x/actions", "recovery"} {
			r := s.do(s.request(http.MethodPost, "api/v1/"+path, body, row.header...))
			if r.StatusCode != row.status || r.problem(t).Code != row.code {
				t.Errorf("%s, %s: %d %s", name, path, r.StatusCode, r.body)
			}
		}
	}
	if _, err := f.engine.Find("X"); err == nil {
		t.Error("a run was begun")
	}
	s.post("api/v1/runs", body, "Origin: "+s.server.URL, "Sec-Fetch-Site: same-origin").want(t, http.StatusCreated)
	s.do(s.request(http.MethodPost, "api/v1/runs", body, asJSON+"; charset=utf-8")).want(t, http.StatusOK)
}
