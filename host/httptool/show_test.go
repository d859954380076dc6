package httptool_test

import (
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

// accounted are secrets that are read by nobody who only looks.
func accounted(t *testing.T) map[string]host.Secret {
	secrets := values("token", "s3cr3t-value", "second", "s3cr3t-other", "third", "s3cr3t-third")
	for name, account := range map[string]string{"token": "acme-eu", "second": "acme-bank", "third": "acme-eu"} {
		s := secrets[name]
		s.Account = account
		s.Value = nil // a panic
		secrets[name] = s
	}
	return secrets
}

// Seen red with the key in it, and with the secret's value.
func TestWhatPeopleAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		cfg  httptool.Config
		typ  string
		body string
		want string
	}{
		{
			"JSON",
			httptool.Config{URL: "https://x.example/o/{order}?full=1", Headers: map[string]string{"authorization": "Bearer {secret.token}", "X-Version": "7"}},
			abi.TypeJSON, `{"order":"a/b", "amount":1.50}`,
			"POST https://x.example/o/a%2Fb?full=1 (acme-eu)\nAuthorization: Bearer {secret.token}\nContent-Type: application/json\n" +
				"Idempotency-Key: {key}\nUser-Agent: pawl\nX-Version: 7\n\n" + `{"order":"a/b", "amount":1.50}`,
		},
		{
			"two accounts",
			httptool.Config{URL: "https://x.example/", Method: "PUT", Headers: map[string]string{"A": "{secret.token}{secret.third}", "B": "{secret.second}"}},
			abi.TypeJSON, ``,
			"PUT https://x.example/ (acme-bank, acme-eu)\nA: {secret.token}{secret.third}\nB: {secret.second}\nIdempotency-Key: {key}\nUser-Agent: pawl\n\n",
		},
		{
			"a form",
			httptool.Config{URL: "https://x.example/", Body: "form", Key: httptool.Key{JSON: "/id"}},
			abi.TypeJSON, `{"a":{"b":"c d"}}`,
			"POST https://x.example/\nContent-Type: application/x-www-form-urlencoded\nUser-Agent: pawl\n\na%5Bb%5D=c+d&id=%7Bkey%7D",
		},
		{
			"a key in the query",
			httptool.Config{URL: "https://x.example/", Method: "DELETE", Key: httptool.Key{Query: "id", Format: "uuid"}},
			abi.TypeJSON, ``, "DELETE https://x.example/?id={key}\nUser-Agent: pawl\n\n",
		},
		{
			"text",
			httptool.Config{URL: "https://x.example/", Body: "raw"},
			abi.TypeBytes, "a body of 1 bytes",
			"POST https://x.example/\nContent-Type: application/octet-stream\nIdempotency-Key: {key}\nUser-Agent: pawl\n\na body of 1 bytes",
		},
		{
			"no text",
			httptool.Config{URL: "https://x.example/", Body: "raw"},
			abi.TypeBytes, "\x1b[2J",
			"POST https://x.example/\nContent-Type: application/octet-stream\nIdempotency-Key: {key}\nUser-Agent: pawl\n" +
				"a body of 4 bytes, sha256:05704e8a84c06017af3105c9536c4f0a8396a079988a10374146d7f747e3b705",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			tool := build(t, host.Contract{Effect: host.Keyed}, &row.cfg, accounted(t))
			c := call(row.body)
			c.Type = row.typ
			shown, err := tool.(host.Shower).Show(c)
			if err != nil || string(shown) != row.want {
				t.Errorf("%v\ngot  %q\nwant %q", err, shown, row.want)
			}
			c.Key = host.Key{9}
			if again, _ := tool.(host.Shower).Show(c); string(again) != string(shown) {
				t.Errorf("another key shows %q", again)
			}
		})
	}
	tool := build(t, host.Contract{}, &httptool.Config{URL: "https://x.example/{a}"}, nil)
	if shown, err := tool.(host.Shower).Show(call(`{}`)); err == nil || !strings.Contains(err.Error(), "no field a") {
		t.Errorf("%s, %v", shown, err)
	}
}

// Whose books: where the call goes, with whose credentials, and who is asked.
// Seen red without the accounts, and without the place of the query.
func TestReceiver(t *testing.T) {
	t.Parallel()
	headers := map[string]string{"A": "{secret.token}", "B": "{secret.third}"}
	for _, row := range []struct {
		name, want string
		cfg        httptool.Config
	}{
		{"a host", "https://x.example", httptool.Config{URL: "https://X.example:443/a/{b}?c={d}"}},
		{"a port", "http://x.example:443", httptool.Config{URL: "http://x.example:443/a"}},
		{"an account, named once", "https://x.example (acme-eu)", httptool.Config{URL: "https://x.example", Headers: headers}},
		{"two accounts", "https://x.example (acme-bank, acme-eu)", httptool.Config{URL: "https://x.example", Headers: map[string]string{"A": "{secret.token} {secret.second}"}}},
		{"asked there too", "https://x.example (acme-eu)", httptool.Config{URL: "https://x.example", Headers: headers, Verify: &httptool.Verify{URL: "https://x.example:443/{key}"}}},
		{"asked elsewhere", "https://x.example (acme-eu), asked at https://y.example", httptool.Config{URL: "https://x.example", Headers: headers, Verify: &httptool.Verify{URL: "https://y.example/{key}"}}},
	} {
		tool := build(t, host.Contract{}, &row.cfg, accounted(t))
		if got := tool.(host.Receiving).Receiver(); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
