package web_test

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

var linked = regexp.MustCompile(`(?:href|src|action|data-events)="([^"]*)"`)

// Under whatever prefix a program mounts the handler, every page, asset and
// stream that a page links to is there, and nothing outside the prefix is asked
// for.
//
// Seen red with a link that begins with a slash, and without the redirect.
func TestMounts(t *testing.T) {
	t.Parallel()
	f := setup(t)
	for _, state := range []pawl.RunState{pawl.StateCompleted, pawl.StateFailed, pawl.StateWaiting} {
		f.inState(state)
	}
	h := web.Handler(f.engine, nil)
	for name, mounted := range map[string]struct {
		prefix  string
		program func() http.Handler
	}{
		"at the root": {"", func() http.Handler { return h }},
		"net/http": {"/ops/pawl", func() http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/ops/pawl/", http.StripPrefix("/ops/pawl", h))
			return mux
		}},
		"net/http, both": {"/ops/pawl", func() http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/ops/pawl/", http.StripPrefix("/ops/pawl", h))
			mux.Handle("/ops/pawl", http.StripPrefix("/ops/pawl", h))
			return mux
		}},
		"chi": {"/ops/pawl", func() http.Handler {
			r := chi.NewRouter()
			r.Mount("/ops/pawl", http.StripPrefix("/ops/pawl", h))
			return r
		}},
		"echo": {"/ops/pawl", func() http.Handler {
			e := echo.New()
			mounted := echo.WrapHandler(http.StripPrefix("/ops/pawl", h))
			e.Any("/ops/pawl", mounted)
			e.Any("/ops/pawl/*", mounted)
			return e
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveAt(t, mounted.program())
			seen := map[string]bool{}
			crawl(t, s, mounted.prefix, mounted.prefix+"/", seen)
			if len(seen) < 8 {
				t.Errorf("only %d addresses: %v", len(seen), seen)
			}
			if mounted.prefix != "" {
				got := s.address(mounted.prefix + "?state=failed")
				if to, err := got.Location(); err != nil || to.Path != mounted.prefix+"/" || to.RawQuery != "state=failed" {
					t.Errorf("without the slash: %d, to %v", got.StatusCode, to)
				}
			}
		})
	}
}

// address gets an address of the whole program.
func (s *site) address(at string) *reply {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+at, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		r.Method = http.MethodHead // it has no end
	}
	return s.do(r)
}

// crawl gets an address and whatever it links to below the prefix, once.
func crawl(t *testing.T, s *site, prefix, at string, seen map[string]bool) {
	t.Helper()
	if key, _, _ := strings.Cut(at, "?"); seen[key] {
		return
	} else {
		seen[key] = true
	}
	got := s.address(at)
	if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusMethodNotAllowed { // that is where a form goes
		t.Errorf("%s: %d", at, got.StatusCode)
	}
	if !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") || got.StatusCode != http.StatusOK {
		return
	}
	for _, match := range linked.FindAllStringSubmatch(string(got.body), -1) {
		link := strings.ReplaceAll(match[1], "&amp;", "&")
		to, err := url.Parse(link)
		if err != nil || to.IsAbs() || to.Host != "" || path.IsAbs(to.Path) {
			t.Errorf("%s links to %q", at, link)
			continue
		}
		from, _ := url.Parse(at)
		next := from.ResolveReference(to)
		next.Fragment = ""
		if next.Path != prefix && !strings.HasPrefix(next.Path, prefix+"/") {
			t.Errorf("%s links to %q, out of the prefix", at, link)
			continue
		}
		crawl(t, s, prefix, next.String(), seen)
	}
}
