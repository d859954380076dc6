package httptool_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

const (
	unknown    = host.OutcomeUnknown
	applied    = host.OutcomeApplied
	rejected   = host.OutcomeRejected
	notApplied = host.OutcomeNotApplied
)

// What became of this try, and does it settle earlier ones: the default map.
// Seen red with 401 as an ordinary 4xx, 409 as rejected, and a 503 that says
// when to come back as unknown.
func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		status  int
		wait    string // Retry-After
		outcome host.Outcome
		settles bool
		after   time.Duration
	}{
		{status: 200, outcome: applied, settles: true},
		{status: 201, outcome: applied, settles: true},
		{status: 202, outcome: applied, settles: true},
		{status: 204, outcome: applied, settles: true},
		{status: 301, outcome: unknown},
		{status: 302, outcome: unknown},
		{status: 304, outcome: unknown},
		{status: 307, outcome: unknown},
		{status: 400, outcome: rejected, settles: true},
		{status: 402, outcome: rejected, settles: true},
		{status: 404, outcome: rejected, settles: true},
		{status: 410, outcome: rejected, settles: true},
		{status: 422, outcome: rejected, settles: true},
		{status: 499, outcome: rejected, settles: true},
		{status: 401, outcome: notApplied},
		{status: 403, outcome: notApplied},
		{status: 407, outcome: notApplied},
		{status: 408, outcome: unknown},
		{status: 409, outcome: unknown},
		{status: 425, outcome: notApplied},
		{status: 429, outcome: notApplied},
		{status: 429, wait: "7", outcome: notApplied, after: 7 * time.Second},
		{status: 500, outcome: unknown},
		{status: 502, outcome: unknown},
		{status: 503, outcome: unknown},
		{status: 503, wait: "7", outcome: notApplied, after: 7 * time.Second},
		{status: 503, wait: "0", outcome: notApplied},
		{status: 503, wait: "soon", outcome: unknown},
		{status: 503, wait: "-1", outcome: unknown},
		{status: 503, wait: "99999999999999999999", outcome: notApplied, after: 24 * time.Hour},
		{status: 503, wait: "Sun, 29 Nov 2026 03:10:30 GMT", outcome: notApplied, after: 30 * time.Second},
		{status: 503, wait: "Sun, 29 Nov 2026 03:09:00 GMT", outcome: notApplied},
		{status: 503, wait: "Sun, 29 Nov 2099 03:10:30 GMT", outcome: notApplied, after: 24 * time.Hour},
		{status: 500, wait: "7", outcome: unknown, after: 7 * time.Second},
		{status: 504, outcome: unknown},
		{status: 599, outcome: unknown},
	} {
		t.Run(fmt.Sprint(row.status, " ", row.wait), func(t *testing.T) {
			t.Parallel()
			s := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", "Sun, 29 Nov 2026 03:10:00 GMT")
				if row.wait != "" {
					w.Header().Set("Retry-After", row.wait)
				}
				w.WriteHeader(row.status)
			})
			a := toward(t, host.Keyed, s.URL, httptool.Config{}).Try(t.Context(), call(`{}`))
			if a.Outcome != row.outcome || a.Settles != row.settles || a.RetryAfter != row.after {
				t.Errorf("%v, settles %v, after %v; want %v, %v, %v", a.Outcome, a.Settles, a.RetryAfter, row.outcome, row.settles, row.after)
			}
			if a.Response.Status != row.status {
				t.Errorf("status %d", a.Response.Status)
			}
			if wantCode := fmt.Sprintf("http_%d", row.status); row.outcome != applied && (a.Code != wantCode || a.Message == "") {
				t.Errorf("code %q, message %q", a.Code, a.Message)
			}
		})
	}
}

// Who asks was not accepted: that stops the tool, not the call. A status that
// the operator has named says something else here, in a query's answer too.
// Seen red with 401 alone, and with the operator's names ignored.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		status  int
		answers httptool.Answers
		refused bool
		outcome host.Outcome
	}{
		{"401", 401, httptool.Answers{}, true, notApplied},
		{"403", 403, httptool.Answers{}, true, notApplied},
		{"407", 407, httptool.Answers{}, true, notApplied},
		{"429", 429, httptool.Answers{}, false, notApplied},
		{"404", 404, httptool.Answers{}, false, rejected},
		{"another status is named", 403, httptool.Answers{NotApplied: []int{402}}, true, notApplied},
		{"a refusal of business", 403, httptool.Answers{Rejected: []int{403}}, false, rejected},
		{"a rate limit", 403, httptool.Answers{NotApplied: []int{403}}, false, notApplied},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var told []string
			s := server(t, says(row.status, `{}`))
			cfg := &httptool.Config{
				URL: s.URL, Allow: []string{"private"}, Headers: map[string]string{"A": "{secret.token}"}, Answer: row.answers,
				Verify: &httptool.Verify{URL: s.URL + "/{key}", Applied: "true", Absent: "false"},
			}
			tool := build(t, host.Contract{}, cfg, map[string]host.Secret{"token": {
				Value:   func(context.Context) (string, error) { return "s3cr3t-value", nil },
				Refused: func(value string) { told = append(told, value) },
			}})
			a := tool.Try(t.Context(), call(`{}`))
			if a.Outcome != row.outcome || a.CredentialsRefused != row.refused {
				t.Errorf("%+v", a)
			}
			v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
			if v.CredentialsRefused != row.refused || row.refused && v.Kind != host.NoAnswer {
				t.Errorf("asked: %+v", v)
			}
			want := 0
			if row.refused {
				want = 2
			}
			if len(told) != want || want > 0 && told[0] != "s3cr3t-value" {
				t.Errorf("the secret was told %q", told)
			}
		})
	}
}

func TestOperatorsOutcomeMap(t *testing.T) {
	t.Parallel()
	answers := httptool.Answers{Applied: []int{409}, Rejected: []int{403, 202}, NotApplied: []int{402}, Unknown: []int{404, 201}}
	for status, want := range map[int]host.Outcome{
		409: applied, 403: rejected, 202: rejected, 402: notApplied, 404: unknown, 201: unknown,
		200: applied, 400: rejected, 500: unknown,
	} {
		s := server(t, says(status, `{"a":1}`))
		a := toward(t, host.Once, s.URL, httptool.Config{Answer: answers}).Try(t.Context(), call(`{}`))
		if a.Outcome != want || a.Settles != (want == applied || want == rejected) {
			t.Errorf("%d: %v, settles %v, want %v", status, a.Outcome, a.Settles, want)
		}
		if string(a.Response.Body) != `{"a":1}` {
			t.Errorf("%d: body %s", status, a.Response.Body)
		}
	}
}

// Nothing was sent: a failed dial or handshake is known not to be applied.
func TestNothingWasSent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	secure := httptest.NewTLSServer(says(200, `{}`)) // a certificate that nobody knows
	secure.Config.ErrorLog = quiet
	t.Cleanup(secure.Close)
	plain := server(t, says(200, `{}`))

	for _, row := range []struct{ name, url, code string }{
		{"connection refused", closed, "not_connected"},
		{"unknown certificate", secure.URL, "not_connected"},
		{"no TLS there", strings.Replace(plain.URL, "http", "https", 1), "not_connected"},
		{"no such name", "http://nowhere.invalid", "not_connected"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := call(`{}`)
			c.Sent = func() { t.Error("Sent was called") }
			a := toward(t, host.Once, row.url, httptool.Config{}).Try(t.Context(), c)
			if a.Outcome != notApplied || a.Settles || a.Code != row.code || a.Message == "" {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The receiver holds the request: a deadline that passes is an unknown outcome.
func TestNoAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 1)
	s := server(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		reached <- struct{}{}
		<-r.Context().Done()
	})
	for _, class := range []host.Class{host.Once, host.Keyed, host.Read} {
		ctx, cancel := contextUntil(t, reached)
		a := toward(t, class, s.URL, httptool.Config{}).Try(ctx, call(`{}`))
		cancel()
		if a.Outcome != unknown || a.Settles || a.Code != "no_answer" {
			t.Errorf("%v: %+v", class, a)
		}
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 8<<20+1)
	for _, row := range []struct {
		name    string
		class   host.Class
		raw     string
		outcome host.Outcome
		settles bool
		code    string
	}{
		{"2xx breaks off", host.Keyed, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", unknown, false, "connection_broken"},
		{"2xx breaks off in chunks", host.Once, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", unknown, false, "connection_broken"},
		{"a read's 2xx breaks off", host.Read, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", unknown, false, "connection_broken"},
		{"4xx breaks off", host.Keyed, "HTTP/1.1 422 No\r\nContent-Length: 9\r\n\r\n{", rejected, true, "http_422"},
		{"5xx breaks off", host.Keyed, "HTTP/1.1 500 No\r\nContent-Length: 9\r\n\r\n{", unknown, false, "http_500"},
		{"nothing at all", host.Keyed, "", unknown, false, "connection_broken"},
		{"no HTTP", host.Keyed, "hello, I am something else\r\n\r\n", unknown, false, "connection_broken"},
		{"a head without an end", host.Keyed, "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("x", 300<<10), unknown, false, "connection_broken"},
		{"a write's 2xx is too long", host.Once, "HTTP/1.1 200 OK\r\n\r\n" + large, applied, true, "answer_too_large"},
		{"a read's 2xx is too long", host.Read, "HTTP/1.1 200 OK\r\n\r\n" + large, rejected, true, "answer_too_large"},
		{"4xx is too long", host.Once, "HTTP/1.1 400 No\r\n\r\n" + large, rejected, true, "http_400"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, func(conn net.Conn) {
				readRequest(conn)
				_, _ = io.WriteString(conn, row.raw)
			})
			a := toward(t, row.class, url, httptool.Config{Method: "POST"}).Try(t.Context(), call(`{}`))
			if a.Outcome != row.outcome || a.Settles != row.settles || a.Code != row.code {
				t.Errorf("got %v, settles %v, code %s: %s", a.Outcome, a.Settles, a.Code, a.Message)
			}
			if len(a.Response.Body) > 0 {
				t.Errorf("a body of %d bytes that is not whole", len(a.Response.Body))
			}
		})
	}
}

func TestTypeOfAnAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, contentType, body, want string }{
		{"JSON", "application/json", `{"a":1}`, abi.TypeJSON},
		{"JSON with a parameter", "application/json; charset=utf-8", `[1]`, abi.TypeJSON},
		{"JSON of some vocabulary", "application/problem+json", `{"a":1}`, abi.TypeJSON},
		{"JSON that is none", "application/json", `{"a":`, abi.TypeBytes},
		{"JSON that is no UTF-8", "application/json", "\"\xff\"", abi.TypeBytes},
		{"JSON without content", "application/json", "", abi.TypeBytes},
		{"an object that is called text", "text/plain", `{"a":1}`, abi.TypeJSON},
		{"text", "text/plain", `12`, abi.TypeBytes},
		{"something else", "text/html", `{"a":1}`, abi.TypeBytes},
		{"nothing said", "", `{"a":1}`, abi.TypeJSON},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{row.contentType}
				_, _ = io.WriteString(w, row.body)
			})
			a := toward(t, host.Read, s.URL, httptool.Config{}).Try(t.Context(), call(""))
			if a.Response.Type != row.want || string(a.Response.Body) != row.body {
				t.Errorf("%s %q", a.Response.Type, a.Response.Body)
			}
		})
	}
}

func TestUnitsAreReadFromTheAnswer(t *testing.T) {
	t.Parallel()
	units := map[string]string{"tokens": "/usage/total", "eur_cent": "/amount"}
	for _, row := range []struct {
		name, body string
		want       map[string]int64
		code       string
	}{
		{"both", `{"usage":{"total":212},"amount":0}`, map[string]int64{"tokens": 212, "eur_cent": 0}, ""},
		{"one is missing", `{"usage":{"total":212}}`, map[string]int64{"tokens": 212}, "units_missing"},
		{"negative", `{"usage":{"total":-1},"amount":1}`, map[string]int64{"eur_cent": 1}, "units_missing"},
		{"a fraction", `{"usage":{"total":1.5},"amount":1}`, map[string]int64{"eur_cent": 1}, "units_missing"},
		{"text", `{"usage":{"total":"5"},"amount":1}`, map[string]int64{"eur_cent": 1}, "units_missing"},
		{"too large", `{"usage":{"total":9223372036854775808},"amount":1}`, map[string]int64{"eur_cent": 1}, "units_missing"},
		{"no JSON", `nothing`, map[string]int64{}, "units_missing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := server(t, says(200, row.body))
			a := toward(t, host.Once, s.URL, httptool.Config{Units: units}).Try(t.Context(), call(`{}`))
			if a.Outcome != applied || !a.Settles || a.Code != row.code || fmt.Sprint(a.Units) != fmt.Sprint(row.want) {
				t.Errorf("%+v", a)
			}
		})
	}
	s := server(t, says(422, `{"usage":{"total":212},"amount":1}`))
	if a := toward(t, host.Once, s.URL, httptool.Config{Units: units}).Try(t.Context(), call(`{}`)); a.Units != nil {
		t.Errorf("a refusal charges %v", a.Units)
	}
}

// Whatever a step or a receiver writes, the message about it stays short, and
// no part of a secret is left where it ends.
// Seen red with each of the bounds removed, and with the bound before the cut.
func TestMessagesAreShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100_000)
	secret := strings.Repeat("x", 150) + "s3cr3t-value"
	for _, row := range []struct{ name, raw, request, want string }{
		{"a field that would be lost", "", `{"` + long + `":1}`, "would be lost"},
		{"a redirect far away", "HTTP/1.1 302 Found\r\nLocation: /" + long + "\r\nContent-Length: 0\r\n\r\n", `{}`, "the redirect to"},
		{"a redirect with a secret", "HTTP/1.1 302 Found\r\nLocation: /" + strings.Repeat("y", 60) + secret + "\r\nContent-Length: 0\r\n\r\n", `{}`, "[secret token]"},
		{"an answer that is no HTTP", "HTTP/1.1 " + long + "\r\n\r\n", `{}`, "connection broke"},
		{"an answer that ends as no HTTP", "HTTP/1.1 200 OK\r\nTrailer: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + long[:3000] + "\r\n\r\n", `{}`, "broke off"},
		{"a verdict about a name that is not there", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + `{"a":"` + long + `"}`, `{}`, "no such key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, func(conn net.Conn) {
				readRequest(conn)
				_, _ = conn.Write([]byte(row.raw))
			})
			cfg := &httptool.Config{
				URL: url, Method: "DELETE", Allow: []string{"private"}, Headers: map[string]string{"A": "{secret.token}"},
				Verify: &httptool.Verify{URL: url + "/{key}", Applied: "response[response.a] == 1", Absent: "false"},
			}
			tool := build(t, host.Contract{}, cfg, values("token", secret))
			a := tool.Try(t.Context(), call(row.request))
			v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
			for _, message := range []string{a.Message, v.Message} {
				if len(message) > 1100 || !utf8.ValidString(message) || strings.Contains(message, "xxxx") {
					t.Errorf("%d bytes: %.300q", len(message), message)
				}
			}
			if !strings.Contains(a.Message+v.Message, row.want) {
				t.Errorf("%.300q and %.300q say nothing of %q", a.Message, v.Message, row.want)
			}
		})
	}
}
