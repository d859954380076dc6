package httptool_test

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

// moves answers /?status=N&to=URL with a redirect, and all else with what it
// was asked.
func moves(t *testing.T, saw func(*http.Request)) string {
	t.Helper()
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		if saw != nil {
			saw(r)
		}
		status, err := strconv.Atoi(r.URL.Query().Get("status"))
		if err != nil {
			says(200, `{"asked":"`+r.Method+" "+r.URL.Path+`"}`)(w, r)
			return
		}
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
		}
		w.WriteHeader(status)
	}).URL
}

func moved(status, to string) string { return "/?status=" + status + "&to=" + url.QueryEscape(to) }

// A redirect of a write is not followed: nobody then knows its outcome. Nor is
// one of a query about a key, which may lead to a page that says 200 to anything,
// of a read that has a body, and of what the operator has named.
// Seen red with each of them followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	named := httptool.Answers{NotApplied: []int{301, 302, 303, 307, 308}}
	for _, row := range []struct {
		name    string
		class   host.Class
		method  string
		answers httptool.Answers
		want    host.Outcome
	}{
		{"once", host.Once, "", httptool.Answers{}, unknown},
		{"keyed", host.Keyed, "", httptool.Answers{}, unknown},
		{"keyed PUT", host.Keyed, "PUT", httptool.Answers{}, unknown},
		{"a write by GET", host.Once, "GET", httptool.Answers{}, unknown},
		{"a read by POST", host.Read, "POST", httptool.Answers{}, notApplied},
		{"a read that is named", host.Read, "", named, notApplied},
	} {
		for _, status := range []string{"301", "302", "303", "307", "308"} {
			var requests atomic.Int32
			at := moves(t, func(*http.Request) { requests.Add(1) })
			path := moved(status, "/elsewhere?ticket=7")
			cfg := httptool.Config{URL: path, Method: row.method, Answer: row.answers}
			a := toward(t, row.class, at, cfg).Try(t.Context(), call(`{}`))
			if a.Outcome != row.want || a.Settles || a.Code != "http_"+status || requests.Load() != 1 {
				t.Errorf("%s, %s: %d requests, %+v", row.name, status, requests.Load(), a)
			}
			if !strings.Contains(a.Message, `the redirect to "/elsewhere" is not followed`) {
				t.Errorf("%s, %s: the message does not name the other place: %s", row.name, status, a.Message)
			}
			cfg.Verify = &httptool.Verify{URL: path + "&key={key}", Applied: "true", Absent: "false"}
			cfg.Answer = httptool.Answers{}
			requests.Store(0)
			v := toward(t, row.class, at, cfg).(host.Verifier).Verify(t.Context(), call(`{}`))
			if v.Kind != host.NoAnswer || v.Code != "http_"+status || requests.Load() != 1 {
				t.Errorf("%s, %s: asked with %d requests: %+v", row.name, status, requests.Load(), v)
			}
		}
	}
}

// A read goes where it is sent, as a GET, and is announced once.
// Seen red with Sent called for each request.
func TestReadsFollowRedirects(t *testing.T) {
	t.Parallel()
	other := moves(t, nil)
	for name, to := range map[string]string{
		"relative":                 "end",
		"absolute path":            "/end",
		"another place":            other + "/end",
		"another, without schema":  strings.TrimPrefix(other, "http:") + "/end",
		"twice":                    moved("307", "/end"),
		"five times, with the one": moved("302", moved("303", moved("301", moved("308", "/end#part")))),
	} {
		for _, status := range []string{"301", "302", "303", "307", "308"} {
			at := moves(t, nil)
			c := call(`{}`)
			sent := 0
			c.Sent = func() { sent++ }
			a := toward(t, host.Read, at, httptool.Config{URL: moved(status, to)}).Try(t.Context(), c)
			if a.Outcome != applied || string(a.Response.Body) != `{"asked":"GET /end"}` || sent != 1 {
				t.Errorf("%s, %s: %+v %s, sent %d times", name, status, a, a.Response.Body, sent)
			}
		}
	}
}

// Another place was not shown the credentials, so its refusal is not about them:
// a link that has expired must not stop the tool.
//
// Seen red with every place's refusal counted.
func TestARefusalElsewhereIsNotAboutTheCredentials(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 403} {
		other := server(t, says(status, `{}`)).URL
		at := moves(t, nil)
		for to, want := range map[string]bool{other + "/file": false, at + moved(strconv.Itoa(status), ""): true} {
			told := 0
			secrets := values("token", "s3cr3t-value")
			token := secrets["token"]
			token.Refused = func(string) { told++ }
			secrets["token"] = token
			cfg := &httptool.Config{URL: at + moved("302", to), Allow: []string{"private"}, Headers: map[string]string{"Authorization": "Bearer {secret.token}"}}
			a := build(t, host.Contract{Effect: host.Read}, cfg, secrets).Try(t.Context(), call(""))
			if a.Outcome != notApplied || a.Code != "http_"+strconv.Itoa(status) || a.CredentialsRefused != want || (told == 1) != want {
				t.Errorf("%d from %s: %+v, told %d times", status, to, a, told)
			}
		}
	}
}

// Another place gets neither credentials nor the key, and whoever sits there
// cannot have them used by sending the read back.
// Seen red with all headers sent everywhere, and with them sent again after the
// way back.
func TestCredentialsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string][]http.Header{}
	see := func(who string) func(*http.Request) {
		return func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			seen[who] = append(seen[who], r.Header)
		}
	}
	own, other := moves(t, see("own")), moves(t, see("other"))
	tool := toward(t, host.Read, own, httptool.Config{
		URL: moved("302", own+moved("302", other+moved("307", own+moved("302", "/end")))),
		Key: httptool.Key{Header: "X-Id"},
		Headers: map[string]string{
			"Authorization": "Bearer {secret.token}", "X-Token": "{secret.token}", "Cookie": "a=b", "X-Api-Key": "literal",
			"Accept": "application/json", "Accept-Language": "{secret.token}",
		},
	})
	if a := tool.Try(t.Context(), call(`{}`)); a.Outcome != applied || string(a.Response.Body) != `{"asked":"GET /end"}` {
		t.Fatalf("%+v %s", a, a.Response.Body)
	}
	all := []string{"Accept", "Accept-Language", "Authorization", "Cookie", "User-Agent", "X-Api-Key", "X-Id", "X-Token"}
	few := []string{"Accept", "User-Agent"}
	for who, want := range map[string][][]string{"own": {all, all, few, few}, "other": {few}} {
		if len(seen[who]) != len(want) {
			t.Fatalf("%s saw %d requests", who, len(seen[who]))
		}
		for i, h := range seen[who] {
			var names []string
			for name := range h {
				if name != "Content-Length" && name != "Connection" {
					names = append(names, name)
				}
			}
			if slices.Sort(names); !slices.Equal(names, want[i]) {
				t.Errorf("%s, request %d: %v, want %v", who, i+1, names, want[i])
			}
		}
	}
}

// Seen red with each of the checks removed.
func TestWhereRedirectsMayLead(t *testing.T) {
	t.Parallel()
	const from = "https://a.example/x/y?q=1"
	for _, row := range []struct {
		name, from, location, to, why string
		away                          bool
	}{
		{name: "a sibling", from: from, location: "z", to: "https://a.example/x/z"},
		{name: "a path", from: from, location: "/z?k=a%2Fb", to: "https://a.example/z?k=a%2Fb"},
		{name: "a path that keeps its encoding", from: from, location: "/a%2Fb", to: "https://a.example/a%2Fb"},
		{name: "the same place", from: from, location: "HTTPS://A.example:443/z", to: "https://A.example:443/z"},
		{name: "no fragment", from: from, location: "#z", to: "https://a.example/x/y?q=1"},
		{name: "another port", from: from, location: "https://a.example:8443/", to: "https://a.example:8443/", away: true},
		{name: "another host", from: from, location: "//b.example/z", to: "https://b.example/z", away: true},
		{name: "a host below", from: from, location: "https://c.a.example/", to: "https://c.a.example/", away: true},
		{name: "http to https", from: "http://a.example/", location: "https://a.example/", to: "https://a.example/", away: true},
		{name: "https to http", from: from, location: "http://a.example/", why: "it leads from https to http"},
		{name: "a file", from: from, location: "file:///etc/passwd", why: "it leads to no http or https URL"},
		{name: "another protocol", from: from, location: "ftp://a.example/z", why: "it leads to no http or https URL"},
		{name: "a script", from: from, location: "javascript:alert(1)", why: "it leads to no http or https URL"},
		{name: "no host", from: from, location: "https:///z", why: "it leads to no http or https URL"},
		{name: "an opaque URL", from: from, location: "https:z", why: "it leads to no http or https URL"},
		{name: "no URL", from: from, location: "https://[::1", why: "it leads to no http or https URL"},
		{name: "a password", from: from, location: "https://a:b@a.example/", why: "its URL has a user or password"},
		{name: "nowhere", from: from, location: "", why: "it does not say where to"},
	} {
		to, away, why := httptool.Onward(row.from, row.location)
		if to != row.to || away != row.away || why != row.why {
			t.Errorf("%s: %q, away %v, %q", row.name, to, away, why)
		}
	}
}

// Seen red with a bound of 6.
func TestRedirectsInACircleEnd(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	s := server(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.Header().Set("Location", "/again?ticket=7")
		w.WriteHeader(302)
	})
	a := toward(t, host.Read, s.URL, httptool.Config{}).Try(t.Context(), call(`{}`))
	if a.Outcome != notApplied || a.Settles || a.Code != "http_302" || requests.Load() != 6 {
		t.Errorf("%d requests, %+v", requests.Load(), a)
	}
	if !strings.Contains(a.Message, "more than 5 redirects are not followed") || strings.Contains(a.Message, "ticket") {
		t.Errorf("%s", a.Message)
	}
}

// A public receiver cannot have a private one read.
// Seen red with a dialer for redirects that does not look at the address.
func TestRedirectsToPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	private := moves(t, func(*http.Request) { reached.Add(1) })
	public := moves(t, nil)
	cfg := &httptool.Config{URL: "http://public.example" + moved("302", private+"/end")}
	tool := build(t, host.Contract{Effect: host.Read}, cfg, nil)
	httptool.Resolve(tool, map[string]string{"public.example:80": strings.TrimPrefix(public, "http://")})
	a := tool.Try(t.Context(), call(`{}`))
	if a.Outcome != notApplied || a.Settles || a.Code != "address_refused" || reached.Load() != 0 {
		t.Errorf("%d reached, %+v", reached.Load(), a)
	}
}

// The deadline is that of the call, wherever it has got to; and what is told of
// the last place has neither its query nor a secret.
func TestWhatIsToldOfRedirects(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/held":
			_, _ = io.Copy(io.Discard, r.Body)
			reached <- struct{}{}
			<-r.Context().Done()
		case "/s3cr3t-value":
			w.WriteHeader(500)
		default:
			w.Header().Set("Location", r.URL.Query().Get("to"))
			w.WriteHeader(302)
		}
	})
	headers := map[string]string{"A": "{secret.token}"}
	a := toward(t, host.Read, s.URL, httptool.Config{URL: "/?to=/s3cr3t-value%3Fticket=7", Headers: headers}).Try(t.Context(), call(`{}`))
	if want := `which led to "` + s.URL + `/[secret token]"`; a.Code != "http_500" || !strings.HasSuffix(a.Message, want) {
		t.Errorf("%+v, want %s", a, want)
	}
	ctx, cancel := contextUntil(t, reached)
	defer cancel()
	a = toward(t, host.Read, s.URL, httptool.Config{URL: "/?to=/held"}).Try(ctx, call(`{}`))
	if a.Outcome != unknown || a.Code != "no_answer" {
		t.Errorf("%+v", a)
	}
}
