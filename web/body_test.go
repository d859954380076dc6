package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// A request that is too large is refused, and is not read on.
//
// Seen red without the limit.
func TestBodyLimits(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	s.post("api/v1/recovery", strings.Repeat(" ", 1<<20+1)).want(t, http.StatusRequestEntityTooLarge)
	s.post("api/v1/runs/x/actions", `{"action":"`+strings.Repeat("x", 1<<20)+`"}`).want(t, http.StatusRequestEntityTooLarge)
	s.do(s.request(http.MethodPost, "recover", strings.Repeat("x", 1<<20+1), asForm)).want(t, http.StatusRequestEntityTooLarge)
	say := func(n int) string {
		return strings.Replace(order, "{", fmt.Sprintf(`{"say":%q,`, strings.Repeat("x", n)), 1)
	}
	for name, n := range map[string]int{"maxLength": pawl.MaxInput - 1000, "a step takes at most": pawl.MaxInput} {
		p := s.post("api/v1/runs", startBody("large", say(n))).want(t, http.StatusUnprocessableEntity).problem(t)
		if !strings.Contains(p.Detail, name) { // it was read, and looked at
			t.Errorf("%d bytes: %+v", n, p)
		}
	}
	if p := s.post("api/v1/runs", startBody("largest", say(pawl.MaxInput+1<<20))).want(t, http.StatusRequestEntityTooLarge).problem(t); p.Code != "body_too_large" {
		t.Errorf("%+v", p)
	}
}

// slowBody is a connection whose client sends nothing, or nothing more:
// reading ends at the deadline.
type slowBody struct {
	http.ResponseWriter
	deadline time.Time
	sent     io.Reader
}

func (b *slowBody) SetReadDeadline(at time.Time) error {
	b.deadline = at
	return nil
}

func (b *slowBody) Read(p []byte) (int, error) {
	switch {
	case b.sent != nil:
		return b.sent.Read(p)
	case b.deadline.IsZero():
		time.Sleep(time.Hour)
	default:
		time.Sleep(time.Until(b.deadline))
	}
	return 0, os.ErrDeadlineExceeded
}

func (*slowBody) Close() error { return nil }

// A body that does not arrive ends the request within half a minute, and one
// that has arrived leaves no deadline behind: it would end the answer.
//
// Seen red without the deadline, and with it left.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		post := func(body *slowBody) int {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/recovery", nil)
			r.RemoteAddr = "127.0.0.1:1"
			r.Header.Set("Content-Type", "application/json")
			r.Body = body
			w := httptest.NewRecorder()
			body.ResponseWriter = w
			web.Handler(nil, nil).ServeHTTP(body, r)
			return w.Code
		}
		began := time.Now()
		if code := post(&slowBody{}); code != http.StatusBadRequest {
			t.Errorf("status %d", code)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("after %v", took)
		}
		arrives := &slowBody{sent: strings.NewReader("{}}")}
		if code := post(arrives); code != http.StatusBadRequest || !arrives.deadline.IsZero() {
			t.Errorf("status %d, and the deadline is %v", code, arrives.deadline)
		}
	})
}
