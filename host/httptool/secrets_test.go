package httptool_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

// Whatever a receiver gives back, no form of a secret comes out of the tool.
// Seen red, form by form, with nothing cut, with the raw form alone, with
// upper-case percent-encoding alone, and with escapes undone only in what calls
// itself JSON and is.
func TestSecretsAreCutOutOfWhatComesBack(t *testing.T) {
	t.Parallel()
	const secret = `tok/+"<é>&=~0123456789`
	quoted, _ := json.Marshal(secret)
	inner := string(quoted[1 : len(quoted)-1])
	b64 := base64.StdEncoding.EncodeToString
	core := func(s string) string { return s[4 : len(s)-6] } // what its neighbours have no part in
	for _, row := range []struct{ name, contentType, body, leak string }{
		{"as it is", "text/plain", "bad token " + secret + "!", secret},
		{"twice", "text/plain", secret + secret, secret},
		{"in JSON", "application/json", `{"error":"bad token ` + inner + `"}`, inner},
		{"in JSON as another encoder writes it", "application/json", `{"e":"` + strings.ReplaceAll(strings.ReplaceAll(inner, "/", `\/`), `\u003c`, "<") + `"}`, "0123456789"},
		{"in JSON, each letter escaped", "application/json", `{"e":["` + eachEscaped(secret) + `"]}`, `\u0030\u0031`},
		{"escaped JSON that is called text", "text/plain", `{"e":["` + eachEscaped(secret) + `"]}`, `\u0030\u0031`},
		{"escaped JSON in the second of two texts", "application/x-ndjson", "{\"e\":1}\n{\"e\":\"" + eachEscaped(secret) + "\"}\n", `\u0030\u0031`},
		{"escaped JSON that breaks off", "application/octet-stream", `{"e":"` + eachEscaped(secret) + `","f":"\`, `\u0030\u0031`},
		{"escaped JSON in a sentence", "text/html", `<b>it's 3" of {"e":"` + eachEscaped(secret) + `"}`, `\u0030\u0031`},
		{"escaped JSON that breaks off in an escape", "text/plain", `{"e":"` + eachEscaped(secret) + `\u00`, `\u0030\u0031`},
		{"escaped JSON beside another's escapes", "text/html", `var e = "it\'s ` + eachEscaped(secret) + ` in C:\dir"`, `\u0030\u0031`},
		{"escaped JSON in JSON", "application/json", `{"e":"{\"f\":\"` + strings.ReplaceAll(eachEscaped(secret), `\`, `\\`) + `\"}"}`, `\\u0030\\u0031`},
		{"as a name in JSON", "application/json", `{"` + eachEscaped(secret) + `":1}`, `\u0030\u0031`},
		{"in a query", "text/plain", "GET /x?t=" + url.QueryEscape(secret), url.QueryEscape(secret)},
		{"in a path", "text/plain", "GET /x/" + url.PathEscape(secret), url.PathEscape(secret)},
		{"in a query, in lower case", "text/plain", "GET /x?t=" + lowerPercent(url.QueryEscape(secret)), lowerPercent(url.QueryEscape(secret))},
		{"in a path, in lower case", "text/plain", "GET /x/" + lowerPercent(url.PathEscape(secret)), lowerPercent(url.PathEscape(secret))},
		{"all encoded, in lower case", "application/json", `{"e":"tok%2f%2b%22%3c%c3%a9%3e%26%3d~0123456789"}`, "%2b%22%3c%c3%a9%3e%26%3d~0123456789"},
		{"base64", "text/plain", b64([]byte(secret)), core(b64([]byte(secret)))},
		{"base64 with one before", "text/plain", b64([]byte("x" + secret)), core(b64([]byte("x" + secret)))},
		{"base64 with a user before", "text/plain", "Basic " + b64([]byte("us:"+secret+"--")), core(b64([]byte("us:" + secret)))},
		{"base64 for URLs", "text/plain", base64.RawURLEncoding.EncodeToString([]byte("12" + secret)), core(base64.RawURLEncoding.EncodeToString([]byte("12" + secret)))},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(row.body, row.leak) {
				t.Fatalf("the row looks for %q, which is not in %q", row.leak, row.body)
			}
			for _, status := range []int{200, 302, 422, 500} {
				s := server(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", row.contentType)
					w.Header().Set("Location", "/"+url.PathEscape(secret))
					w.WriteHeader(status)
					_, _ = io.WriteString(w, row.body)
				})
				cfg := &httptool.Config{
					URL: s.URL, Allow: []string{"private"}, Headers: map[string]string{"A": "{secret.token}"},
					Verify: &httptool.Verify{URL: s.URL + "/{key}", Applied: "response.nothing == 1", Absent: "false"},
				}
				tool := build(t, host.Contract{}, cfg, values("token", secret))
				a := tool.Try(t.Context(), call(`{}`))
				v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
				out := fmt.Sprintf("%+v %s %+v %s", a, a.Response.Body, v, v.Response.Body)
				for _, leak := range []string{row.leak, secret} {
					if strings.Contains(out, leak) {
						t.Errorf("%d: %q comes out in %s", status, leak, out)
					}
				}
				if !strings.Contains(string(a.Response.Body), "[secret token]") {
					t.Errorf("%d: nothing says that a secret was cut out: %s", status, a.Response.Body)
				}
				if row.contentType == "application/json" && (a.Response.Type != abi.TypeJSON || !json.Valid(a.Response.Body)) {
					t.Errorf("%d: no JSON any more: %s", status, a.Response.Body)
				}
			}
		})
	}
}

// lowerPercent writes %2F as %2f.
func lowerPercent(s string) string {
	return regexp.MustCompile("%..").ReplaceAllStringFunc(s, strings.ToLower)
}

func eachEscaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// A secret that looks like a number makes no difference to the rest: cutting it
// out breaks the JSON, and what is escaped in it is found all the same.
// Seen red with the JSON read after the value itself was cut out.
func TestSecretsInAnAnswerThatCuttingBreaks(t *testing.T) {
	t.Parallel()
	s := server(t, says(200, `{"n":12345678,"e":"\u0031\u0032\u0033\u0034\u0035\u0036\u0037\u0038","n":"\u00e9"}`))
	cfg := &httptool.Config{URL: s.URL, Allow: []string{"private"}, Headers: map[string]string{"A": "{secret.pin}"}}
	a := build(t, host.Contract{}, cfg, values("pin", "12345678")).Try(t.Context(), call(`{}`))
	if want := `{"n":[secret pin],"e":"[secret pin]","n":"\u00e9"}`; string(a.Response.Body) != want {
		t.Errorf("%s, want %s", a.Response.Body, want)
	}
}

// Strings in strings without end cost no more than a few readings.
// Seen red (out of memory) without a bound on the levels.
func TestSecretsInAnswersNestedWithoutEnd(t *testing.T) {
	t.Parallel()
	body := `{"e":"\u005c` + strings.Repeat("u005c", 100_000) + `"}`
	s := server(t, says(200, body))
	a := toward(t, host.Once, s.URL, httptool.Config{Headers: map[string]string{"A": "{secret.token}"}}).Try(t.Context(), call(`{}`))
	if string(a.Response.Body) != body {
		t.Errorf("%d bytes, want %d: %s %s %s", len(a.Response.Body), len(body), a.Outcome, a.Code, a.Message)
	}
}

// An answer without secrets keeps its bytes.
func TestAnswersKeepTheirBytes(t *testing.T) {
	t.Parallel()
	const body = `{ "b": 1.0, "a": "\u00e9\/", "n": 12345678901234567890 }`
	s := server(t, says(200, body))
	a := toward(t, host.Once, s.URL, httptool.Config{Headers: map[string]string{"A": "{secret.token}"}}).Try(t.Context(), call(`{}`))
	if string(a.Response.Body) != body {
		t.Errorf("%s", a.Response.Body)
	}
}

// A place that secrets come from may tell of one why it has no other.
// Seen red with the reason as it is.
func TestSecretsAreCutOutOfTheReasonWhyOneIsMissing(t *testing.T) {
	t.Parallel()
	cfg := &httptool.Config{URL: "https://x.example", Headers: map[string]string{"A": "{secret.none} {secret.token}"}}
	secrets := values("token", "s3cr3t/value")
	secrets["none"] = host.Secret{Value: func(context.Context) (string, error) {
		return "", errors.New("the vault does not like s3cr3t%2fvalue" + strings.Repeat("!", 2000))
	}}
	a := build(t, host.Contract{}, cfg, secrets).Try(t.Context(), call(`{}`))
	if want := "secret none: the vault does not like [secret token]!!"; !strings.HasPrefix(a.Message, want) || len(a.Message) > 1100 {
		t.Errorf("%+v", a)
	}
}

// Who stops waiting for a secret has not been refused by anybody.
// Seen red with every missing secret counted as refused credentials.
func TestWaitingForASecretEnds(t *testing.T) {
	t.Parallel()
	cfg := &httptool.Config{URL: "https://x.example", Headers: map[string]string{"A": "{secret.slow}"}}
	secrets := map[string]host.Secret{"slow": {Value: func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := build(t, host.Contract{}, cfg, secrets).Try(ctx, call(`{}`))
	if a.Outcome != notApplied || a.CredentialsRefused || a.Code != "not_sent" {
		t.Errorf("%+v", a)
	}
}

// A secret is read at each sending: a new value works without a restart, and a
// missing one means that nothing is sent.
func TestSecretsAreReadWhenTheyAreNeeded(t *testing.T) {
	t.Parallel()
	address, got := recorder(t)
	value, missing := "first-token", error(nil)
	cfg := &httptool.Config{
		URL: address, Allow: []string{"private"}, Headers: map[string]string{"Authorization": "Bearer {secret.pay_token}"},
		Verify: &httptool.Verify{URL: address + "/{key}"},
	}
	tool := build(t, host.Contract{}, cfg, map[string]host.Secret{
		"pay_token": {Value: func(context.Context) (string, error) { return value, missing }},
		"unused": {Value: func(context.Context) (string, error) {
			t.Error("a secret was read that no header names")
			return "", nil
		}},
	})
	for _, value = range []string{"first-token", "second-token"} {
		if a := tool.Try(t.Context(), call(`{}`)); a.Outcome != applied {
			t.Fatalf("%+v", a)
		}
		if h := got().header.Get("Authorization"); h != "Bearer "+value {
			t.Errorf("sent %q", h)
		}
		tool.(host.Verifier).Verify(t.Context(), call(`{}`))
		if h := got().header.Get("Authorization"); h != "Bearer "+value {
			t.Errorf("asked with %q", h)
		}
	}
	for _, row := range []struct {
		value string
		err   error
		want  string
	}{
		{"", errors.New("the environment variable PAY_TOKEN is not set"), "secret pay_token: the environment variable PAY_TOKEN is not set"},
		{"abcde", nil, "secret pay_token: its value has fewer than 6 bytes"},
		{"line\nbreak", nil, "secret pay_token: its value has a line break"},
	} {
		value, missing = row.value, row.err
		c := call(`{}`)
		c.Sent = func() { t.Error("Sent was called") }
		a := tool.Try(t.Context(), c)
		if a.Outcome != notApplied || a.Settles || a.Code != "secret_missing" || !a.CredentialsRefused || !strings.HasPrefix(a.Message, row.want) {
			t.Errorf("%+v", a)
		}
		v := tool.(host.Verifier).Verify(t.Context(), c)
		if v.Kind != host.NoAnswer || v.Code != "secret_missing" || !v.CredentialsRefused || !strings.HasPrefix(v.Message, row.want) {
			t.Errorf("%+v", v)
		}
	}
}
