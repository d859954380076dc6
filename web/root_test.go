package web_test

import (
	"net/http"
	"testing"

	"github.com/pawl-dev/pawl/web"
)

// Wherever a page is, it knows the way to the root.
//
// Seen red with the unescaped path counted.
func TestRoot(t *testing.T) {
	t.Parallel()
	h := web.Probes(nil, nil)
	for _, target := range []string{"/probe/root/a/b", "/probe/root/a%2Fb/c", "/probe/root/%2e%2e/c"} {
		if got := ask(h, http.MethodGet, target, nil); got.Body.String() != "../../../" {
			t.Errorf("%s: %d %q", target, got.Code, got.Body)
		}
	}
}

// The redirect to the root stays on this host, whatever was asked for.
//
// Seen red with the whole path in it.
func TestRedirectStaysHere(t *testing.T) {
	t.Parallel()
	h := http.StripPrefix("//evil.example/x:y", web.Handler(nil, nil))
	got := ask(h, http.MethodGet, "/", func(r *http.Request) {
		r.URL.Path, r.RequestURI = "//evil.example/x:y", "//evil.example/x:y?a=1"
	})
	if to := got.Header().Get("Location"); to != "./x:y/?a=1" || got.Code != http.StatusPermanentRedirect {
		t.Errorf("%d to %q", got.Code, to)
	}
}
