package httptool_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/host/httptool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// values are secrets that do not change.
func values(pairs ...string) map[string]host.Secret {
	secrets := map[string]host.Secret{}
	for i := 0; i < len(pairs); i += 2 {
		secrets[pairs[i]] = host.Secret{Value: func(context.Context) (string, error) { return pairs[i+1], nil }}
	}
	return secrets
}

func build(t *testing.T, c host.Contract, cfg *httptool.Config, secrets map[string]host.Secret) host.Tool {
	t.Helper()
	tool, err := httptool.New("pay.refund", c, cfg, secrets)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// toward is a tool that may reach the receiver at url, with some of cfg.
func toward(t *testing.T, class host.Class, url string, cfg httptool.Config) host.Tool {
	t.Helper()
	if cfg.URL == "" {
		cfg.URL = "/things"
	}
	cfg.URL = url + cfg.URL
	cfg.Allow = []string{"private"}
	if cfg.Verify != nil {
		v := *cfg.Verify
		v.URL = url + v.URL
		cfg.Verify = &v
	}
	return build(t, host.Contract{Effect: class}, &cfg, values("token", "s3cr3t-value"))
}

func call(body string) *host.Call {
	typ := abi.TypeJSON
	if body == "" {
		typ = abi.TypeBytes
	}
	return &host.Call{
		Tool: "pay.refund", Run: "r", Step: "send", Attempt: 1, Try: 1,
		Key: host.Key{1, 2, 3}, Type: typ, Body: []byte(body), Sent: func() {},
	}
}

// server answers with a function.
func server(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

// says answers with JSON.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}
