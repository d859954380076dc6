package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// ask gives a handler a request as a server would, whatever is in it.
func ask(h http.Handler, method, target string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://127.0.0.1"+target, nil)
	r.RemoteAddr = "127.0.0.1:40000"
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Without logins only requests that name this machine are answered: a name that
// a foreign name server lets point here is not one.
//
// Seen red with the name's end alone compared, and with every host let in.
func TestHost(t *testing.T) {
	t.Parallel()
	h := web.Probes(setup(t).engine, nil)
	for host, in := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:7717": true, "127.8.9.10:1": true, "[::1]": true, "[::1]:7717": true,
		"localhost": true, "localhost:7717": true, "LocalHost:7717": true, "pawl.localhost": true, "a.b-c.localhost:80": true,

		"": false, "evil.example": false, "evil.example:7717": false, "127.0.0.1.evil.example": false,
		"localhost.evil.example": false, "evillocalhost": false, "localhost.": false, "localhost.:7717": false,
		"127.0.0.1.": false, "127.0.0.1@evil.example": false, "evil.example@localhost": false, "user@127.0.0.1": false,
		"localhost:7717@evil.example": false, "localhost:7717:80": false, "localhost:": true, "localhost:x": false,
		"[::1": false, "::1]": false, "[::1]evil": false, "[::1%25lo]": false, "[::1%lo]": false, "[fe80::1]": false, "[::]": false,
		"0.0.0.0": false, "10.0.0.1": false, "169.254.169.254": false, "2130706433": false, "0x7f.1": false, "127.1": false,
		"localhost,evil.example": false, "localhost evil.example": false, "localhost/evil": false, "evil.example/.localhost": false,
		"évil.localhost": false, "evil\x00.localhost": false, "evil\\.localhost": false,
	} {
		got := ask(h, http.MethodGet, "/api/v1/health", func(r *http.Request) { r.Host = host })
		switch {
		case in && got.Code != http.StatusOK:
			t.Errorf("%q: %d %s", host, got.Code, got.Body)
		case !in && (got.Code != http.StatusForbidden || !strings.Contains(got.Body.String(), `"code":"denied"`)):
			t.Errorf("%q is let in: %d %s", host, got.Code, got.Body)
		}
	}
	// Nothing else in a request can stand for its host.
	got := ask(h, http.MethodGet, "/api/v1/health", func(r *http.Request) {
		r.Host = "evil.example"
		r.Header.Set("X-Forwarded-Host", "localhost")
		r.Header.Set("Forwarded", "host=localhost")
	})
	if got.Code != http.StatusForbidden {
		t.Errorf("a forwarded host is let in: %d", got.Code)
	}
}

// A request of another machine can name any host.
//
// Seen red with only the host looked at, and with an address without a port taken
// for none.
func TestPeer(t *testing.T) {
	t.Parallel()
	h := web.Handler(setup(t).engine, nil)
	for peer, status := range map[string]int{
		"127.0.0.1:5": 200, "[::1]:5": 200, "@": 200, "": 200, "192.0.2.1:5": 403, "[2001:db8::1]:5": 403, "10.0.0.1:5": 403,
		"127.0.0.1": 200, "192.0.2.1": 403, "2001:db8::1": 403, "unknown": 403,
	} {
		got := ask(h, http.MethodGet, "/api/v1/health", func(r *http.Request) { r.RemoteAddr = peer })
		if got.Code != status {
			t.Errorf("%q: %d", peer, got.Code)
		}
	}
}

// Authorize decides alone, and what it says is not shown.
//
// Seen red with its error as the problem's detail.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	f := setup(t)
	h := web.Probes(f.engine, &web.Options{Authorize: func(r *http.Request) (pawl.Principal, error) {
		switch r.Header.Get("User") {
		case "":
			return pawl.Principal{}, errors.New("nobody has the token 4711")
		case "bug":
			panic("a secret of the bug")
		}
		return pawl.Principal{Name: r.Header.Get("User")}, nil
	}})
	as := func(user string) func(*http.Request) {
		return func(r *http.Request) {
			r.Host, r.RemoteAddr = "pawl.example", "192.0.2.1:5"
			r.Header.Set("User", user)
		}
	}
	for _, target := range []string{"/api/v1/health", "/api/v1/runs", "/", "/runs/x", "/nothing", "/api/v1/openapi.yaml", "/probe/token"} {
		for user, status := range map[string]int{"": http.StatusForbidden, "bug": http.StatusInternalServerError} {
			got := ask(h, http.MethodGet, target, as(user))
			if body := got.Body.String(); got.Code != status || strings.Contains(body, "4711") || strings.Contains(body, "secret") {
				t.Errorf("%s as %q: %d %s", target, user, got.Code, body)
			}
		}
	}
	if got := ask(h, http.MethodGet, "/api/v1/health", as("ana")); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Every answer has the headers, also those that say what is wrong.
//
// Seen red with the headers set after the guard.
func TestHeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.inState(pawl.StateFailed)
	h := web.Probes(f.engine, nil)
	type request struct{ method, target, host string }
	requests := []request{
		{"GET", "/nothing", ""},
		{"GET", "/api/v1/nothing", ""},
		{"GET", "/api/v1/runs", "evil.example"},
		{"GET", "/", "evil.example"},
		{"DELETE", "/api/v1/runs", ""},
		{"POST", "/api/v1/runs", ""},
		{"GET", "/probe/panic", ""},
		{"GET", "/api/v1/probe/panic", ""},
		{"GET", "/api/v1/runs/failed", ""},
		{"GET", "/api/v1/runs/failed/logs", ""},
		{"OPTIONS", "/api/v1/runs", ""},
		{"POST", "/probe/form", ""},
		{"HEAD", "/api/v1/runs/failed/events", ""},
		{"HEAD", "/api/v1/events", ""},
		{"GET", "/api/v1/openapi.yaml", ""},
		{"GET", "/", ""},
		{"GET", "/workflows", ""},
		{"GET", "/health", ""},
		{"GET", "/runs/failed", ""},
	}
	for _, r := range requests {
		got := ask(h, r.method, r.target, func(req *http.Request) {
			if r.host != "" {
				req.Host = r.host
			}
		})
		csp := got.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(csp, part) || strings.Contains(csp, "unsafe") {
				t.Errorf("%v: %d: Content-Security-Policy %q lacks %s", r, got.Code, csp, part)
			}
		}
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Header().Get(name) != value {
				t.Errorf("%v: %d: %s is %q", r, got.Code, name, got.Header().Get(name))
			}
		}
		if got.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%v: other sites may read it", r)
		}
	}
}

// A bug is a problem, or a page, that says nothing of the inside.
//
// Seen red with the panic's text as the problem's detail.
func TestPanicSaysNothing(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := web.Probes(setup(t).engine, &web.Options{Logger: textLogger(&log)})
	for _, target := range []string{"/api/v1/probe/panic", "/probe/panic"} {
		got := ask(h, http.MethodGet, target, nil)
		if body := got.Body.String(); got.Code != 500 || strings.Contains(body, "secret") || strings.Contains(body, "goroutine") {
			t.Errorf("%s: %d %s", target, got.Code, body)
		}
	}
	if said := log.String(); strings.Count(said, "a secret of the bug") != 2 || !strings.Contains(said, "export_test.go") {
		t.Errorf("the log says %q", said)
	}
}
