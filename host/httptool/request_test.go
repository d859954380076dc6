package httptool_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

// received is what a receiver saw.
type received struct {
	method, uri, body string
	header            http.Header
}

// recorder answers everything with {} and keeps what it saw.
func recorder(t *testing.T) (url string, got func() received) {
	t.Helper()
	seen := make(chan received, 10)
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- received{r.Method, r.RequestURI, string(body), r.Header}
		says(200, `{}`)(w, r)
	})
	return s.URL, func() received {
		select {
		case r := <-seen:
			return r
		default:
			t.Fatal("the receiver saw nothing")
			return received{}
		}
	}
}

// A value stays within its segment of the path or its part of the query.
// Seen red with url.PathEscape, and with values put in as they are.
func TestFieldsInTheURL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, url, body, want string }{
		{"a word", "/o/{order}", `{"order":"W43"}`, "/o/W43"},
		{"a number", "/o/{order}", `{"order":43}`, "/o/43"},
		{"a number that a double cannot hold", "/o/{order}", `{"order":12345678901234567890}`, "/o/12345678901234567890"},
		{"a boolean", "/o?open={open}", `{"open":true}`, "/o?open=true"},
		{"a field of a field", "/o/{a.b}", `{"a":{"b":"x"}}`, "/o/x"},
		{"a slash", "/o/{order}", `{"order":"a/b"}`, "/o/a%2Fb"},
		{"up and away", "/o/{order}/x", `{"order":"../../admin"}`, "/o/..%2F..%2Fadmin/x"},
		{"a query", "/o/{order}", `{"order":"a?b=c&d"}`, "/o/a%3Fb%3Dc%26d"},
		{"a fragment", "/o/{order}", `{"order":"a#b"}`, "/o/a%23b"},
		{"a percent sign", "/o/{order}", `{"order":"%2e%2e"}`, "/o/%252e%252e"},
		{"a backslash and a semicolon", "/o/{order}", `{"order":"a\\b;c"}`, "/o/a%5Cb%3Bc"},
		{"a line break", "/o/{order}", `{"order":"a\r\nHost: x"}`, "/o/a%0D%0AHost%3A%20x"},
		{"letters of the world", "/o/{order}", `{"order":"ü"}`, "/o/%C3%BC"},
		{"another parameter", "/o?q={q}&limit=1", `{"q":"a&limit=99"}`, "/o?q=a%26limit%3D99&limit=1"},
		{"a plus", "/o?q={q}", `{"q":"a+b c"}`, "/o?q=a%2Bb%20c"},
		{"nothing in the query", "/o?q={q}", `{"q":""}`, "/o?q="},
		{"two in one segment", "/o/{a}-{b}", `{"a":"1","b":"."}`, "/o/1-."},
		{"the template's own encoding", "/a%2Fb/{order}", `{"order":"x"}`, "/a%2Fb/x"},
		{"no path", "?q={q}", `{"q":"1"}`, "/?q=1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url, got := recorder(t)
			a := toward(t, host.Read, url, httptool.Config{URL: row.url}).Try(t.Context(), call(row.body))
			if a.Outcome != applied {
				t.Fatalf("%+v", a)
			}
			if r := got(); r.uri != row.want || r.body != "" {
				t.Errorf("the receiver saw %s with %q, want %s", r.uri, r.body, row.want)
			}
		})
	}
}

// What cannot be sent as it is is told before anything is recorded, and nothing
// leaves.
func TestInvalidRequests(t *testing.T) {
	t.Parallel()
	key := httptool.Key{JSON: "/meta/id"}
	for _, row := range []struct{ name, method, url, body, want string }{
		{"an empty segment", "GET", "/o/{a}", `{"a":""}`, `becomes "", which names another place`},
		{"a dot", "GET", "/o/{a}", `{"a":"."}`, `becomes ".", which names another place`},
		{"two dots", "GET", "/o/{a}", `{"a":".."}`, `becomes "..", which names another place`},
		{"two dots out of two fields", "GET", "/o/{a}{b}", `{"a":".","b":"."}`, `becomes "..", which names another place`},
		{"two dots with the template's help", "GET", "/o/.{a}", `{"a":"."}`, `becomes "..", which names another place`},
		{"no such field", "GET", "/o/{a}", `{}`, "the request has no field a, which the url needs"},
		{"no field of a field", "GET", "/o/{a.b}", `{"a":"x"}`, "the request has no field a.b"},
		{"null", "GET", "/o/{a}", `{"a":null}`, "must be a string, a number or a boolean"},
		{"an object", "GET", "/o/{a}", `{"a":{}}`, "must be a string, a number or a boolean"},
		{"a list", "GET", "/o/{a}", `{"a":["x"]}`, "must be a string, a number or a boolean"},
		{"no object", "GET", "/o/{a}", `"x"`, "the request has no field a"},
		{"a field that would be lost", "GET", "/o/{a}", `{"a":"x","b":1}`, "the field b would be lost: a GET has no body, and the url has no {b}"},
		{"a field that a DELETE would lose", "DELETE", "/o", `{"b":1}`, "the field b would be lost"},
		{"a list for a GET", "GET", "/o", `[1]`, "the request must be an object whose fields are in the url"},
		{"no JSON", "POST", "/o", `{"a":`, "the request must be JSON"},
		{"no UTF-8", "POST", "/o", "\"\xff\"", "the request must be JSON"},
		{"the key's place is taken", "KEYED", "/o", `{"meta":{"id":"mine"}}`, "at /meta/id, which is already there"},
		{"the key's place is none", "KEYED", "/o", `{"meta":[]}`, "at /meta/id, which is not inside an object"},
		{"no object for the key", "KEYED", "/o", `[]`, "at /meta/id, which is not inside an object"},
		{"nothing for the key", "KEYED", "/o", ``, "at /meta/id, which is not inside an object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
			cfg := httptool.Config{URL: row.url, Method: row.method}
			if row.method == "KEYED" {
				cfg.Method, cfg.Key = "POST", key
			}
			tool := toward(t, host.Keyed, s.URL, cfg)
			c := call(row.body)
			err := tool.(host.Checker).Check(c)
			var invalid *httptool.RequestError
			if !errors.As(err, &invalid) || invalid.Tool != "pay.refund" || !strings.Contains(invalid.Message, row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
			if a := tool.Try(t.Context(), c); a.Outcome != rejected || a.Settles || a.Code != "invalid_request" {
				t.Errorf("%+v", a)
			}
		})
	}
	s := server(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	c := call(`{}`)
	c.Type = abi.TypeBytes
	if err := toward(t, host.Once, s.URL, httptool.Config{}).(host.Checker).Check(c); err == nil {
		t.Error("bytes were taken for JSON")
	}
}

func TestWhereTheKeyGoes(t *testing.T) {
	t.Parallel()
	key := call("").Key.String()
	for _, row := range []struct {
		name         string
		class        host.Class
		key          httptool.Key
		body         string
		header, sent string // the key's header; the body on the wire
	}{
		{"by default", host.Keyed, httptool.Key{}, `{ "b":1.0, "a":2 }`, "Idempotency-Key", `{ "b":1.0, "a":2 }`},
		{"once too", host.Once, httptool.Key{}, `{}`, "Idempotency-Key", `{}`},
		{"a header of its own", host.Keyed, httptool.Key{Header: "x-request-id"}, `{}`, "X-Request-Id", `{}`},
		{"a read sends none", host.Read, httptool.Key{}, `{}`, "", `{}`},
		{"a read that asks for it", host.Read, httptool.Key{Header: "X-Id"}, `{}`, "X-Id", `{}`},
		{"in the body", host.Keyed, httptool.Key{JSON: "/message_id"}, `{"n":12345678901234567890,"t":"<&>"}`, "", `{"message_id":"KEY","n":12345678901234567890,"t":"<&>"}`},
		{"deep in the body", host.Keyed, httptool.Key{JSON: "/meta/a~1b/c~0d"}, `{"meta":{"x":1e3}}`, "", `{"meta":{"a/b":{"c~d":"KEY"},"x":1e3}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url, got := recorder(t)
			tool := toward(t, row.class, url, httptool.Config{Method: "POST", Key: row.key})
			for range 2 { // the same in every try
				if a := tool.Try(t.Context(), call(row.body)); a.Outcome != applied {
					t.Fatalf("%+v", a)
				}
				r := got()
				if want := strings.ReplaceAll(row.sent, "KEY", key); r.body != want {
					t.Errorf("body %s, want %s", r.body, want)
				}
				if row.header != "" && r.header.Get(row.header) != key {
					t.Errorf("headers %v", r.header)
				}
				if row.header == "" && strings.Contains(strings.Join(flat(r.header), "\n"), key) {
					t.Errorf("the key is in a header: %v", r.header)
				}
			}
		})
	}
}

func flat(h http.Header) (lines []string) {
	for name, values := range h {
		lines = append(lines, name+": "+strings.Join(values, ", "))
	}
	return lines
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	url, got := recorder(t)
	tool := toward(t, host.Once, url, httptool.Config{Headers: map[string]string{
		"Authorization": "Bearer {secret.token}", "x-version": "7", "Content-Type": "application/vnd.x+json",
	}})
	tool.Try(t.Context(), call(`{}`))
	h := got().header
	want := map[string]string{
		"Authorization": "Bearer s3cr3t-value", "X-Version": "7", "Content-Type": "application/vnd.x+json", "User-Agent": "pawl",
	}
	for name, value := range want {
		if diff := cmp.Diff([]string{value}, h[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		class        host.Class
		method, want string
		body         bool
	}{
		{host.Read, "", "GET", false},
		{host.Once, "", "POST", true},
		{host.Keyed, "PUT", "PUT", true},
		{host.Keyed, "PATCH", "PATCH", true},
		{host.Keyed, "DELETE", "DELETE", false},
		{host.Read, "POST", "POST", true},
	} {
		url, got := recorder(t)
		body := `{"a":1}`
		if !row.body {
			body = `{}`
		}
		toward(t, row.class, url, httptool.Config{Method: row.method}).Try(t.Context(), call(body))
		r := got()
		if r.method != row.want || (r.body != "") != row.body {
			t.Errorf("%v %s: the receiver saw %s with %q", row.class, row.method, r.method, r.body)
		}
	}
}
