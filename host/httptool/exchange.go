package httptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
)

// maxAnswer bounds the body of an answer in bytes.
const maxAnswer = 8 << 20

// reply is what a receiver said, with secrets cut out.
type reply struct {
	response host.Response
	location string // where a redirect leads to, without its query
	via      string // where redirects have led to, if any were followed
	stuck    string // why a redirect of a request that follows them was not followed
	wait     time.Duration
	waits    bool // the answer says how long to wait
	refused  bool // the receiver did not accept the credentials
	// cut is why the body is not whole: the connection broke, the deadline
	// passed, or it is longer than maxAnswer. The head stands.
	cut *failure

	next string // the header Location as it is; never recorded
}

// exchange sends the request once, and on to where redirects lead if it follows
// them. sent is called once, after the first connection stands and before a
// byte of the request leaves.
func (t *tool) exchange(ctx context.Context, s *sending, sent func()) (*reply, *failure) {
	values, err := t.secrets.read(ctx)
	if err != nil {
		return nil, t.noSecrets(ctx, err)
	}
	sent = sync.OnceFunc(sent)
	cut := newCutter(values)
	r, failed := t.send(ctx, s, values, cut, sent)
	for hops := 0; failed == nil && t.follows(s, r.response.Status); hops++ {
		next, why := s.onward(r.next)
		if hops == maxRedirects {
			next, why = nil, fmt.Sprintf("more than %d redirects are not followed", maxRedirects)
		}
		if next == nil {
			r.stuck = why
			break
		}
		s = next
		if r, failed = t.send(ctx, s, values, cut, sent); failed == nil {
			r.via = place(s.url, cut)
		}
	}
	// Elsewhere nobody was shown the credentials: a link that a receiver has given
	// out and that is over says nothing of them.
	if failed == nil && !s.away && t.outcomes.refused(r.response.Status) {
		r.refused = true
		t.secrets.refused(values)
	}
	return r, failed
}

// noSecrets says why a request could not be made.
func (t *tool) noSecrets(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		return &failure{code: "not_sent", message: fmt.Sprintf("nothing was sent within %s: %v", t.contract.Timeout, err)}
	}
	return &failure{code: "secret_missing", message: err.Error(), refused: true}
}

// send is one request and its answer.
func (t *tool) send(ctx context.Context, s *sending, values map[string]string, cut *cutter, sent func()) (*reply, *failure) {
	w := &watch{ctx: ctx, announce: sent}
	req := s.http(s.header(t.headers, values))
	resp, err := t.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: w.gotConn})))
	if err != nil {
		f := t.explain(ctx, s, err, w.sent.Load())
		f.message = shorten(cut.text(f.message), maxMessage)
		return nil, f
	}
	defer resp.Body.Close()
	r := &reply{next: resp.Header.Get("Location")}
	if u, err := url.Parse(r.next); err == nil {
		r.location = place(u, cut)
	}
	r.wait, r.waits = retryAfter(resp.Header, time.Now())
	body, err := readBody(resp)
	if err == nil && len(body) <= maxAnswer {
		body = cut.body(body) // marks may be longer than what they stand for
	}
	switch {
	case err != nil:
		r.cut = t.explain(ctx, s, err, true)
		r.cut.message = shorten(cut.text("the answer broke off: "+r.cut.message), maxMessage)
		body = nil
	case len(body) > maxAnswer:
		r.cut = &failure{sent: true, code: "answer_too_large", message: fmt.Sprintf("the answer is longer than %d bytes and was not kept", maxAnswer)}
		body = nil
	}
	r.response = response(resp, body)
	return r, nil
}

// readBody reads at most a byte more than maxAnswer. What follows a switch of
// protocols is no body, and reading it would not end with the context.
func readBody(resp *http.Response) ([]byte, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, nil
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
}

// watch sees the moment at which a request begins to leave.
type watch struct {
	ctx      context.Context
	announce func()
	sent     atomic.Bool // a byte of the request may have left
}

// gotConn is called by net/http before it writes anything to the connection.
func (w *watch) gotConn(info httptrace.GotConnInfo) {
	w.announce()
	// Who listens may have taken its time. A request that leaves after its
	// deadline could be applied when nobody expects it any more.
	if w.ctx.Err() != nil {
		_ = info.Conn.Close()
		return
	}
	w.sent.Store(true)
}

// explain turns a transport's error into a failure.
func (t *tool) explain(ctx context.Context, s *sending, err error, sent bool) *failure {
	f := &failure{sent: sent}
	var private *addressError
	switch {
	case errors.As(err, &private):
		f.code, f.message = "address_refused", private.Error()
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && sent:
		f.code, f.message = "no_answer", fmt.Sprintf("no answer within %s", t.contract.Timeout)
	case ctx.Err() != nil && sent:
		f.code, f.message = "no_answer", "stopped waiting for the answer"
	case ctx.Err() != nil:
		f.code, f.message = "not_sent", fmt.Sprintf("nothing was sent to %s within %s", origin(s.url), t.contract.Timeout)
	case sent:
		f.code, f.message = "connection_broken", fmt.Sprintf("the connection broke before the answer was complete: %v", err)
	default:
		f.code, f.message = "not_connected", fmt.Sprintf("no connection to %s: %v", origin(s.url), err)
	}
	return f
}

func response(resp *http.Response, body []byte) host.Response {
	r := host.Response{Status: resp.StatusCode, Type: abi.TypeBytes, Body: body}
	if isJSON(resp.Header.Get("Content-Type"), r.Body) && validJSON(r.Body) {
		r.Type = abi.TypeJSON
	}
	return r
}

// isJSON reports whether a body is meant as JSON. Servers that name no type, or
// leave it to a library that calls all text plain, mean it when they begin an
// object or a list.
func isJSON(contentType string, body []byte) bool {
	typ, _, err := mime.ParseMediaType(contentType)
	switch {
	case contentType == "", err == nil && typ == "text/plain":
		body = bytes.TrimLeft(body, " \t\r\n")
		return len(body) > 0 && (body[0] == '{' || body[0] == '[')
	case err != nil:
		return false
	}
	return typ == "application/json" || typ == "text/json" || strings.HasSuffix(typ, "+json")
}
