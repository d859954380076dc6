package httptool_test

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

// Only an answer that its author described says anything about a key.
// Seen red with conditions evaluated on 401 and 5xx, and with an absent that
// counts although the other condition fails.
func TestVerify(t *testing.T) {
	t.Parallel()
	lists := httptool.Verify{Applied: "size(response.data) == 1", Absent: "size(response.data) == 0", Receipt: "/data/0"}
	states := httptool.Verify{Applied: "status == 200 && response.state == 'done'", Absent: "status == 404"}
	for _, row := range []struct {
		name    string
		verify  httptool.Verify
		status  int
		body    string
		kind    host.VerdictKind
		receipt string
		code    string
	}{
		{"default: there", httptool.Verify{}, 200, `{"id":1}`, host.Found, `{"id":1}`, ""},
		{"default: not there", httptool.Verify{}, 404, `{}`, host.Absent, "", ""},
		{"default: refused", httptool.Verify{}, 400, `{}`, host.NoAnswer, "", "verify_unclear"},
		{"default: gone", httptool.Verify{}, 410, `{}`, host.NoAnswer, "", "verify_unclear"},
		{"default: credentials", httptool.Verify{}, 401, `{}`, host.NoAnswer, "", "http_401"},
		{"default: moved", httptool.Verify{}, 302, `{}`, host.NoAnswer, "", "http_302"},
		{"one in the list", lists, 200, `{"data":[{"id":1,"n":12345678901234567890}]}`, host.Found, `{"id":1,"n":12345678901234567890}`, ""},
		{"none in the list", lists, 200, `{"data":[]}`, host.Absent, "", ""},
		{"two in the list", lists, 200, `{"data":[1,2]}`, host.NoAnswer, "", "verify_unclear"},
		{"another shape", lists, 200, `{"items":[]}`, host.NoAnswer, "", "verify_failed"},
		{"no JSON", lists, 200, `<html>`, host.NoAnswer, "", "verify_failed"},
		{"a 404 that the conditions do not know", lists, 404, `{"error":"x"}`, host.NoAnswer, "", "verify_failed"},
		{"403 with the shape of absent", lists, 403, `{"data":[]}`, host.NoAnswer, "", "http_403"},
		{"429 with the shape of absent", lists, 429, `{"data":[]}`, host.NoAnswer, "", "http_429"},
		{"408 with the shape of absent", lists, 408, `{"data":[]}`, host.NoAnswer, "", "http_408"},
		{"500 with the shape of absent", lists, 500, `{"data":[]}`, host.NoAnswer, "", "http_500"},
		{"503 with the shape of applied", lists, 503, `{"data":[1]}`, host.NoAnswer, "", "http_503"},
		{"state done", states, 200, `{"state":"done"}`, host.Found, `{"state":"done"}`, ""},
		{"state open", states, 200, `{"state":"open"}`, host.NoAnswer, "", "verify_unclear"},
		{"state unknown", states, 404, `{}`, host.Absent, "", ""},
		{"applied fails where absent is true", httptool.Verify{Applied: "response.state == 'done'", Absent: "status == 404"}, 404, `{}`, host.NoAnswer, "", "verify_failed"},
		{"both", httptool.Verify{Applied: "true", Absent: "true"}, 200, `{}`, host.NoAnswer, "", "verify_unclear"},
		{"no truth", httptool.Verify{Applied: "1", Absent: "false"}, 200, `{}`, host.NoAnswer, "", "verify_failed"},
		{"no receipt at its place", httptool.Verify{Applied: "true", Absent: "false", Receipt: "/data/0"}, 200, `{"data":[]}`, host.NoAnswer, "", "verify_no_receipt"},
		{"a name twice", lists, 200, `{"data":[1],"data":[]}`, host.NoAnswer, "", "verify_failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, says(row.status, row.body))
			row.verify.URL = "/things?key={key}"
			if row.verify.Applied == "" {
				row.verify.URL = "/things/{key}"
			}
			tool := toward(t, host.Verify, s.URL, httptool.Config{Verify: &row.verify})
			v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
			if v.Kind != row.kind || v.Code != row.code {
				t.Errorf("%+v", v)
			}
			if row.kind == host.NoAnswer && v.Message == "" {
				t.Error("nothing says why")
			}
			if row.kind == host.Found && string(v.Response.Body) != row.receipt {
				t.Errorf("receipt %s, want %s", v.Response.Body, row.receipt)
			}
		})
	}
}

// 200 with an empty list is the commonest answer to a query for a key that was
// never seen. Where such an answer is to be expected, nothing is taken for
// granted. Seen red with the defaults for every url.
func TestQueriesForListsNeedConditions(t *testing.T) {
	t.Parallel()
	s := server(t, says(200, `[]`))
	for url, refused := range map[string]bool{
		"/things?key={key}":         true,
		"/?{key}":                   true,
		"/things/{order}?key={key}": true,
		"/things/{key}":             false,
		"/things/{key}?full=1":      false,
		"/things/{key}?also={key}":  false,
	} {
		cfg := &httptool.Config{URL: s.URL, Verify: &httptool.Verify{URL: s.URL + url}}
		_, err := httptool.New("pay.refund", host.Contract{Effect: host.Verify}, cfg, nil)
		if refused != (err != nil) || err != nil && !strings.Contains(err.Error(), `write both, as in applied = "size(response.data) >= 1"`) {
			t.Errorf("%s: %v", url, err)
		}
		cfg.Verify.Applied, cfg.Verify.Absent = "size(response) >= 1", "size(response) == 0"
		cfg.Allow = []string{"private"}
		tool := build(t, host.Contract{Effect: host.Verify}, cfg, nil)
		if v := tool.(host.Verifier).Verify(t.Context(), call(`{"order":1}`)); v.Kind != host.Absent {
			t.Errorf("%s: %+v", url, v)
		}
	}
}

// The query is a GET by key with the tool's headers, and announces no sending.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	url, got := recorder(t)
	tool := toward(t, host.Verify, url, httptool.Config{
		URL: "/orders/{order}/holds", Headers: map[string]string{"Authorization": "Bearer {secret.token}"},
		Verify: &httptool.Verify{URL: "/orders/{order}/holds?key={key}", Applied: "true", Absent: "false"},
	})
	c := call(`{"order":"a/b","n":1}`)
	c.Sent = func() { t.Error("Sent was called") }
	if v := tool.(host.Verifier).Verify(t.Context(), c); v.Kind != host.Found {
		t.Fatalf("%+v", v)
	}
	r := got()
	if want := "/orders/a%2Fb/holds?key=" + c.Key.String(); r.method != "GET" || r.uri != want || r.body != "" {
		t.Errorf("asked %s %s with %q, want GET %s", r.method, r.uri, r.body, want)
	}
	if r.header.Get("Authorization") != "Bearer s3cr3t-value" || r.header.Get("Idempotency-Key") != "" {
		t.Errorf("headers %v", r.header)
	}
}

func TestVerifiedReceiptsChargeUnits(t *testing.T) {
	t.Parallel()
	s := server(t, says(200, `{"data":[{"amount":1948}]}`))
	tool := toward(t, host.Keyed, s.URL, httptool.Config{
		Units:  map[string]string{"eur_cent": "/amount"},
		Verify: &httptool.Verify{URL: "/?key={key}", Applied: "true", Absent: "false", Receipt: "/data/0"},
	})
	v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
	if v.Kind != host.Found || fmt.Sprint(v.Units) != "map[eur_cent:1948]" {
		t.Errorf("%+v", v)
	}
}

func TestNoAnswerToAQuery(t *testing.T) {
	t.Parallel()
	busy := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(503)
	})
	broken := rawServer(t, func(conn net.Conn) { readRequest(conn) })
	torn := rawServer(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = conn.Write([]byte("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n{"))
	})
	for _, row := range []struct {
		name, url, code string
		after           time.Duration
	}{
		{"busy", busy.URL, "http_503", 7 * time.Second},
		{"broken connection", broken, "connection_broken", 0},
		{"torn answer", torn, "connection_broken", 0},
	} {
		tool := toward(t, host.Keyed, row.url, httptool.Config{Verify: &httptool.Verify{URL: "/{key}"}})
		v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
		if v.Kind != host.NoAnswer || v.Code != row.code || v.RetryAfter != row.after || v.Message == "" {
			t.Errorf("%s: %+v", row.name, v)
		}
	}
}

// A tool that cannot be asked must not look as if it could.
func TestOnlyToolsWithAQueryAreVerifiers(t *testing.T) {
	t.Parallel()
	s := server(t, says(200, `{}`))
	for _, verify := range []*httptool.Verify{nil, {URL: "/{key}"}} {
		tool := toward(t, host.Keyed, s.URL, httptool.Config{Verify: verify})
		if _, ok := tool.(host.Verifier); ok != (verify != nil) || tool.Contract().Verifies != ok {
			t.Errorf("verify %v: Verifier %v, contract %v", verify, ok, tool.Contract().Verifies)
		}
		if _, err := host.NewRegistry(tool); err != nil {
			t.Error(err)
		}
	}
	_, err := httptool.New("a", host.Contract{Effect: host.Verify}, &httptool.Config{URL: s.URL}, nil)
	if err == nil || !strings.Contains(err.Error(), "says how to ask") {
		t.Errorf("verify without a query: %v", err)
	}
}

// Caches keep a 404 too. An absent from before the settle time would be taken for
// one from after it, and the effect happen twice.
//
// Seen red without the header.
func TestAQueryIsNotAnsweredFromACache(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]string{}
	at := server(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Method] = r.Header.Get("Cache-Control")
		says(200, `{}`)(w, r)
	}).URL
	for _, row := range []struct{ header, want string }{{"", "no-cache"}, {"no-store", "no-store"}} {
		cfg := httptool.Config{Verify: &httptool.Verify{URL: "/things/{key}"}}
		if row.header != "" {
			cfg.Headers = map[string]string{"cache-control": row.header}
		}
		tool := toward(t, host.Verify, at, cfg)
		tool.Try(t.Context(), call(`{}`))
		tool.(host.Verifier).Verify(t.Context(), call(`{}`))
		if want := map[string]string{"POST": row.header, "GET": row.want}; !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
