package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-dev/pawl/web"
)

// site is a server of the handler, and a client that holds every answer of the
// API against the API's description.
type site struct {
	t      testing.TB
	server *httptest.Server
	client *http.Client
	stop   context.CancelFunc // ends the streams
}

// serve mounts a handler of the fixture's engine under the prefix "/ops/pawl".
func serve(t testing.TB, engine web.Engine, opts *web.Options) *site {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(mount+"/", http.StripPrefix(mount, web.Handler(engine, opts)))
	return serveAt(t, mux)
}

const mount = "/ops/pawl"

// serveAt serves a whole program's handler.
func serveAt(t testing.TB, h http.Handler) *site {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server := httptest.NewUnstartedServer(h)
	server.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	server.Start()
	t.Cleanup(func() {
		stop()
		server.Close()
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxConnsPerHost: 0}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{
		Jar: jar, Transport: &conforming{t: t, next: transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &site{t: t, server: server, client: client, stop: stop}
}

// reply is an answer with its body read.
type reply struct {
	*http.Response
	body []byte
}

// into decodes the answer.
func (r *reply) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
}

// problem is an answer that says what is wrong.
type problem struct {
	Status int
	Code   string
	Detail string
	Hint   string
	Run    string
	Errors []struct{ Pointer, Message string }

	Differences []struct{ Pin, What string }
}

func (r *reply) problem(t testing.TB) problem {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("%d %s: %s", r.StatusCode, got, r.body)
	}
	var p problem
	r.into(t, &p)
	if p.Status != r.StatusCode {
		t.Errorf("status %d in a problem of status %d", r.StatusCode, p.Status)
	}
	return p
}

// request makes one; header lines are "Name: value".
func (s *site) request(method, path, body string, header ...string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+mount+"/"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

func (s *site) do(r *http.Request) *reply {
	s.t.Helper()
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reply{resp, body}
}

func (s *site) get(path string, header ...string) *reply {
	s.t.Helper()
	return s.do(s.request(http.MethodGet, path, "", header...))
}

const asJSON = "Content-Type: application/json"

// post sends JSON.
func (s *site) post(path, body string, header ...string) *reply {
	s.t.Helper()
	return s.do(s.request(http.MethodPost, path, body, append(header, asJSON)...))
}

// want fails unless the answer has the status.
func (r *reply) want(t testing.TB, status int) *reply {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, status, bytes.TrimSpace(r.body))
	}
	return r
}

func itoa(n uint64) string { return strconv.FormatUint(n, 10) }

func textLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
