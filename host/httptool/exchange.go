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
	wait     time.Duration
	waits    bool // the answer says how long to wait
	// cut is why the body is not whole: the connection broke, the deadline
	// passed, or it is longer than maxAnswer. The head stands.
	cut *failure
}

// exchange sends the request once. sent is called after the connection stands
// and before a byte of the request leaves.
func (t *tool) exchange(ctx context.Context, s *sending, sent func()) (*reply, *failure) {
	values, err := t.secrets.read()
	if err != nil {
		return nil, &failure{code: "secret_missing", message: err.Error()}
	}
	cut := newCutter(values)
	w := &watch{ctx: ctx, announce: sent}
	req := s.http(t.headers, values)
	resp, err := t.transport.RoundTrip(req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: w.gotConn})))
	if err != nil {
		f := t.explain(ctx, err, w.sent.Load())
		f.message = shorten(cut.text(f.message), maxMessage)
		return nil, f
	}
	defer resp.Body.Close()
	r := &reply{location: location(resp.Header, cut)}
	r.wait, r.waits = retryAfter(resp.Header, time.Now())
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		r.cut = t.explain(ctx, err, true)
		r.cut.message = shorten(cut.text("the answer broke off: "+r.cut.message), maxMessage)
		body = nil
	case len(body) > maxAnswer:
		r.cut = &failure{sent: true, code: "answer_too_large", message: fmt.Sprintf("the answer is longer than %d bytes and was not read", maxAnswer)}
		body = nil
	}
	r.response = response(resp, body, cut)
	return r, nil
}

// watch sees the moment at which a request begins to leave.
type watch struct {
	ctx      context.Context
	announce func()
	sent     atomic.Bool // a byte of the request may have left
	asked    atomic.Bool // announce was called
}

// gotConn is called by net/http before it writes anything to the connection. It
// may come twice: a kept connection that turns out closed before the first byte
// is replaced.
func (w *watch) gotConn(info httptrace.GotConnInfo) {
	if !w.asked.Swap(true) {
		w.announce()
	}
	// Who listens may have taken its time. A request that leaves after its
	// deadline could be applied when nobody expects it any more.
	if w.ctx.Err() != nil {
		_ = info.Conn.Close()
		return
	}
	w.sent.Store(true)
}

// explain turns a transport's error into a failure.
func (t *tool) explain(ctx context.Context, err error, sent bool) *failure {
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
		f.code, f.message = "not_sent", fmt.Sprintf("nothing was sent to %s within %s", t.url.base, t.contract.Timeout)
	case sent:
		f.code, f.message = "connection_broken", fmt.Sprintf("the connection broke before the answer was complete: %v", err)
	default:
		f.code, f.message = "not_connected", fmt.Sprintf("no connection to %s: %v", t.url.base, err)
	}
	return f
}

func response(resp *http.Response, body []byte, cut *cutter) host.Response {
	r := host.Response{Status: resp.StatusCode, Type: abi.TypeBytes, Body: cut.body(body)}
	if isJSON(resp.Header.Get("Content-Type"), r.Body) && validJSON(r.Body) {
		r.Type = abi.TypeJSON
	}
	return r
}

// location reads the header of that name, without its query, which may be a
// ticket of the receiver's. Secrets are looked for in the decoded text: there
// are many ways to encode a path.
func location(h http.Header, cut *cutter) string {
	u, err := url.Parse(h.Get("Location"))
	if err != nil {
		return ""
	}
	text := u.Path
	if u.Host != "" {
		text = u.Scheme + "://" + u.Host + u.Path
	}
	return shorten(cut.text(text), maxQuoted)
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
