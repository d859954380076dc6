package httptool_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/httptool"
)

// victim is a connection of a receiver that means harm, whose request was read.
type victim struct {
	net.Conn
	stuck   func() // nothing more will come that could end the call
	request *http.Request
	body    string
}

func (v *victim) says(text string) { _, _ = io.WriteString(v, text) }

// gone waits until the other side closes the connection.
func (v *victim) gone() { _, _ = io.Copy(io.Discard, v) }

// hangs says something and then nothing.
func hangs(text string) func(*victim) {
	return func(v *victim) {
		v.says(text)
		v.stuck()
		v.gone()
	}
}

// drips says the head at once and the rest without an end, a byte at a time.
func drips(head, drop string) func(*victim) {
	return func(v *victim) {
		v.says(head)
		for n := 0; ; n++ {
			if n == 20 {
				v.stuck()
			}
			if _, err := io.WriteString(v, drop); err != nil {
				return
			}
			time.Sleep(time.Millisecond) // what a slow-loris is
		}
	}
}

// floods says the head and then one thing again and again until nobody listens.
func floods(head, text string) func(*victim) {
	text = strings.Repeat(text, 1+64<<10/len(text))
	return func(v *victim) {
		v.says(head)
		for range 1 << 14 { // a gigabyte
			if _, err := io.WriteString(v, text); err != nil {
				return
			}
		}
	}
}

// raw says one text and closes the connection.
func raw(text string) func(*victim) { return func(v *victim) { v.says(text) } }

// resets says one text and breaks the connection without a goodbye.
func resets(text string) func(*victim) {
	return func(v *victim) {
		v.says(text)
		_ = v.Conn.(*net.TCPConn).SetLinger(0)
	}
}

// receiver is one that means harm, and the right thing to make of it.
type receiver struct {
	name   string
	serve  func(*victim)
	write  host.Outcome // of each class but read
	read   host.Outcome
	asked  host.VerdictKind
	code   string // of the write
	settle bool   // the write's answer settles earlier tries
}

const (
	ok      = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
)

// long is text that fills a body up to the limit and one byte over it.
var (
	atLimit   = strings.Repeat("x", 8<<20)
	overLimit = atLimit + "x"
)

func hostile() []receiver {
	return append(append(torn(), lying()...), swamping()...)
}

// torn are answers that never become whole.
func torn() []receiver {
	u := func(name string, serve func(*victim), code string) receiver {
		return receiver{name, serve, unknown, unknown, host.NoAnswer, code, false}
	}
	return []receiver{
		u("no answer", hangs(""), "no_answer"),
		u("half a status line", hangs("HTTP/1.1 20"), "no_answer"),
		u("half a head", hangs(ok), "no_answer"),
		u("a head and no body", hangs(ok+"Content-Length: 2\r\n\r\n"), "no_answer"),
		u("half a chunk", hangs(chunked+"2\r\n{"), "no_answer"),
		u("chunks without a last one", hangs(chunked+"2\r\n{}\r\n"), "no_answer"),
		u("a last chunk without its end", hangs(chunked+"2\r\n{}\r\n0\r\n"), "no_answer"),
		u("one 103 and nothing", hangs("HTTP/1.1 103 Early Hints\r\n\r\n"), "no_answer"),
		u("a head that drips", drips("HTTP/1.1 200 OK\r\nX-Long: ", "x"), "no_answer"),
		u("a body that drips", drips(ok+"\r\n", "x"), "no_answer"),
		u("chunks that drip", drips(chunked, "1\r\nx\r\n"), "no_answer"),
		u("a declared body that drips", drips(ok+"Content-Length: 1000000\r\n\r\n", "x"), "no_answer"),
		{"a refusal whose body drips", drips("HTTP/1.1 422 No\r\n\r\n", "x"), rejected, rejected, host.NoAnswer, "http_422", true},

		u("closed before the answer", raw(""), "connection_broken"),
		u("closed within the status line", raw("HTTP/1.1 20"), "connection_broken"),
		u("closed within the head", raw(ok), "connection_broken"),
		u("closed within a chunk", raw(chunked+"5\r\n{"), "connection_broken"),
		u("closed between chunks", raw(chunked+"2\r\n{}\r\n"), "connection_broken"),
		u("closed within the trailer", raw(chunked+"2\r\n{}\r\n0\r\nA: b\r\n"), "connection_broken"),
		u("reset before the answer", resets(""), "connection_broken"),
		u("reset within the status line", resets("HTTP/1.1 20"), "connection_broken"),
		u("reset within the head", resets(ok), "connection_broken"),
		u("reset within the body", resets(ok+"Content-Length: 9\r\n\r\n{"), "connection_broken"),
		u("reset within a chunk", resets(chunked+"5\r\n{"), "connection_broken"),
		u("an answer when nobody waits any more", func(v *victim) { v.stuck(); v.gone(); v.says(ok + "Content-Length: 2\r\n\r\n{}") }, "no_answer"),
	}
}

// lying are answers that are not what they say they are.
func lying() []receiver {
	row := func(name, text string, write, read host.Outcome, asked host.VerdictKind, code string) receiver {
		return receiver{name, raw(text), write, read, asked, code, write == applied || write == rejected}
	}
	broken := func(name, text string) receiver {
		return row(name, text, unknown, unknown, host.NoAnswer, "connection_broken")
	}
	fine := func(name, text string) receiver { return row(name, text, applied, applied, host.Found, "") }
	odd := func(name, status, code string) receiver {
		return row(name, "HTTP/1.1 "+status+" x\r\nContent-Length: 0\r\n\r\n", unknown, unknown, host.NoAnswer, code)
	}
	wait := func(name, status, header string, write, read host.Outcome) receiver {
		return row("wait "+name, "HTTP/1.1 "+status+" x\r\nRetry-After: "+header+"\r\nContent-Length: 0\r\n\r\n", write, read, host.NoAnswer, "http_"+status)
	}
	return []receiver{
		broken("a length that is too long", ok+"Content-Length: 3\r\n\r\n{}"),
		broken("two lengths", ok+"Content-Length: 2\r\nContent-Length: 1\r\n\r\n{}"),
		broken("a negative length", ok+"Content-Length: -1\r\n\r\n{}"),
		broken("a length with a sign", ok+"Content-Length: +2\r\n\r\n{}"),
		broken("a length that is no number", ok+"Content-Length: 0x2\r\n\r\n{}"),
		broken("a length beyond all numbers", ok+"Content-Length: 99999999999999999999\r\n\r\n{}"),
		broken("a chunk with a negative length", chunked+"-2\r\n{}\r\n0\r\n\r\n"),
		broken("a chunk beyond all numbers", chunked+"fffffffffffffffff\r\n{}"),
		broken("a chunk of almost all numbers", chunked+"7fffffffffffffff\r\n{}"),
		broken("a chunk that is longer than it says", chunked+"1\r\n{}\r\n0\r\n\r\n"),
		broken("an encoding that nobody knows", ok+"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		broken("two encodings", ok+"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		broken("a header without a colon", ok+"oh no\r\n\r\n{}"),
		broken("a type with control characters", ok+"X-Type: \x01;;=\r\n\r\n{}"),
		broken("a time to wait with control characters", "HTTP/1.1 503 x\r\nRetry-After: \x00\r\nContent-Length: 0\r\n\r\n"),
		broken("a redirect to control characters", "HTTP/1.1 302 x\r\nLocation: http://\x01\r\nContent-Length: 0\r\n\r\n"),
		broken("a head that begins with a folded line", "HTTP/1.1 200 OK\r\n more\r\n\r\n{}"),
		broken("a status that is no number", "HTTP/1.1 abc OK\r\n\r\n"),
		broken("a negative status", "HTTP/1.1 -20 OK\r\n\r\n"),
		broken("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"),
		broken("no version", "HTTP/x 200 OK\r\n\r\n"),
		broken("HTTP/2 settings", "\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
		broken("HTTP/2 goodbye", "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		broken("the request said back", "POST /things HTTP/1.1\r\nAuthorization: Bearer s3cr3t-value\r\n\r\n"),
		broken("a status line of NULs", strings.Repeat("\x00", 100)+"\r\n\r\n"),
		broken("a trailer longer than any", chunked+"2\r\n{}\r\n0\r\nA: "+strings.Repeat("x", 64<<10)+"\r\n\r\n"),

		fine("a length that is too short", ok+"Content-Length: 2\r\n\r\n{}}}}}"),
		fine("the same length twice", ok+"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
		fine("a length beside chunks", ok+"Content-Length: 900\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
		fine("a trailer", chunked+"2\r\n{}\r\n0\r\nStatus: 500\r\nContent-Length: 9\r\n\r\n"),
		fine("a second answer behind the first", ok+"Content-Length: 2\r\n\r\n{}HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
		fine("a header with a space in its name", ok+"Content-Length : 1\r\n\r\n{}"),
		fine("no length and no encoding", ok+"\r\n{}"),
		fine("a body that is said to be packed", ok+"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
		fine("a type that is none", "HTTP/1.1 200 OK\r\nContent-Type: \xff;;=\r\nContent-Length: 2\r\n\r\n{}"),
		fine("a million levels of JSON", ok+"\r\n"+strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000)),
		fine("JSON that is no UTF-8, with NUL", ok+"\r\n{\"a\":\"\xff\x00\"}"),
		fine("a body at the limit", ok+"\r\n"+atLimit),

		odd("status 000", "000", "http_0"),
		odd("status 099", "099", "http_99"),
		odd("status 600", "600", "http_600"),
		odd("status 999", "999", "http_999"),
		row("a refusal that says it is fine", "HTTP/1.1 422 OK\r\nContent-Length: 2\r\n\r\n{}", rejected, rejected, host.NoAnswer, "http_422"),

		wait("less than nothing", "503", "-1", unknown, unknown),
		wait("for ages", "503", "1000000000000", notApplied, notApplied),
		wait("beyond all numbers", "503", strings.Repeat("9", 1000), notApplied, notApplied),
		wait("until long ago", "503", "Thu, 01 Jan 1970 00:00:00 GMT", notApplied, notApplied),
		wait("until the end of time", "503", "Fri, 31 Dec 9999 23:59:59 GMT", notApplied, notApplied),
		wait("for garbage", "503", "\xff soon", unknown, unknown),
		wait("for a fraction", "503", "1.5", unknown, unknown),
		wait("for digits of another alphabet", "503", "٣", unknown, unknown),
		wait("for ages, of a rate limit", "429", "1000000000000", notApplied, notApplied),
		wait("for ages, of a refusal", "422", "1000000000000", rejected, rejected),

		row("a redirect to nowhere", "HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n", unknown, notApplied, host.NoAnswer, "http_302"),
		row("a redirect to garbage", "HTTP/1.1 302 x\r\nLocation: http://[\xff:::\r\nContent-Length: 0\r\n\r\n", unknown, notApplied, host.NoAnswer, "http_302"),
		row("a redirect to a file", "HTTP/1.1 302 x\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", unknown, notApplied, host.NoAnswer, "http_302"),
		row("a redirect to a path of NULs", "HTTP/1.1 302 x\r\nLocation: gopher://x/%00%ff\r\nContent-Length: 0\r\n\r\n", unknown, notApplied, host.NoAnswer, "http_302"),
	}
}

// swamping are answers that are more than anybody wants.
func swamping() []receiver {
	u := func(name string, serve func(*victim)) receiver {
		return receiver{name, serve, unknown, unknown, host.NoAnswer, "connection_broken", false}
	}
	many := func(name string, serve func(*victim)) receiver {
		return receiver{name, serve, applied, rejected, host.NoAnswer, "answer_too_large", true}
	}
	return []receiver{
		u("100 without an end", floods("", "HTTP/1.1 100 Continue\r\n\r\n")),
		u("102 without an end", floods("", "HTTP/1.1 102 Processing\r\n\r\n")),
		u("103 without an end", floods("", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")),
		u("one header of ten megabytes", raw(ok+"X-Long: "+strings.Repeat("x", 10<<20)+"\r\n\r\n{}")),
		u("a hundred thousand headers", raw(ok+strings.Repeat("X-A: b\r\n", 100_000)+"\r\n{}")),
		u("a head without an end", floods(ok, "X-A: b\r\n")),
		u("a status line without an end", floods("HTTP/1.1 200 ", "OK")),
		u("a chunk's length without an end", floods(chunked, "0")),
		u("a chunk's extension without an end", floods(chunked+"2;a=", "x")),
		u("chunks of one byte with long extensions", floods(chunked, "1;"+strings.Repeat("x", 3000)+"\r\n{\r\n")),
		u("a trailer without an end", floods(chunked+"0\r\n", "X-A: b\r\n")),
		many("a body without an end", floods(ok+"\r\n", `{"a":1}`)),
		many("chunks without an end", floods(chunked, "5\r\n{\"a\":\r\n")),
		many("a declared body of a terabyte", floods(ok+"Content-Length: 1099511627776\r\n\r\n", "x")),
		many("one byte over the limit", raw(ok+"\r\n"+overLimit)),
		many("what grows over the limit when secrets are cut out", raw(ok+"\r\n"+strings.Repeat("s3cr3t-value", 8<<20/12))),
		{"a refusal without an end", floods("HTTP/1.1 400 No\r\n\r\n", "x"), rejected, rejected, host.NoAnswer, "http_400", true},
		{"a failure without an end", floods("HTTP/1.1 500 No\r\n\r\n", "x"), unknown, unknown, host.NoAnswer, "http_500", false},
	}
}

// preyed serves each request of a tool with what means harm, and counts.
type preyed struct {
	requests, served atomic.Int32
	url              string
	stuck            chan struct{}
}

func prey(t *testing.T, serve func(*victim)) *preyed {
	p := &preyed{stuck: make(chan struct{}, 1)}
	p.url = rawServer(t, func(conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body) // one that is cut off is counted all the same
		p.requests.Add(1)
		serve(&victim{Conn: conn, request: req, body: string(body), stuck: func() { p.stuck <- struct{}{} }})
		p.served.Add(1)
	})
	return p
}

// What becomes of a call whose receiver means harm, by the class of its tool, and
// what a query about a key makes of it. Each is one request, ends by itself or
// with the call's deadline, and says so in a short sentence without a secret.
//
// Seen red with the limit of a head at a hundred megabytes, with bodies of any
// length, with secrets left in, with marks that make an answer too long, with an
// answer that is not whole taken for whole, and with statuses over 599 as
// rejections.
func TestReceiversThatMeanHarm(t *testing.T) {
	t.Parallel()
	for _, r := range hostile() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, class := range []host.Class{host.Read, host.Keyed, host.Verify, host.Once} {
				p := prey(t, r.serve)
				cfg := httptool.Config{Headers: map[string]string{"Authorization": "Bearer {secret.token}"}}
				if class != host.Read {
					cfg.Method = "PUT"
				}
				if class == host.Verify || class == host.Once {
					cfg.Verify = &httptool.Verify{URL: "/things/{key}"}
				}
				tool := toward(t, class, p.url, cfg)
				r.tries(t, class, tool, p)
				if v, ok := tool.(host.Verifier); ok {
					r.asks(t, v, p)
				}
			}
		})
	}
}

func (r *receiver) tries(t *testing.T, class host.Class, tool host.Tool, p *preyed) {
	ctx, cancel := contextUntil(t, p.stuck)
	defer cancel()
	c, sent := call(`{}`), 0
	c.Sent = func() { sent++ }
	a := tool.Try(ctx, c)
	want, settles, code := r.write, r.settle, r.code
	if class == host.Read {
		want, settles = r.read, r.read == applied || r.read == rejected
	}
	if a.Outcome != want || a.Settles != settles || a.Code != code {
		t.Errorf("%s: %v, settles %v, code %q, want %v, %v, %q: %s", class, a.Outcome, a.Settles, a.Code, want, settles, code, a.Message)
	}
	if n := p.requests.Swap(0); n != 1 || sent != 1 {
		t.Errorf("%s: %d requests, announced %d times", class, n, sent)
	}
	if a.RetryAfter < 0 || a.RetryAfter > 24*time.Hour || len(a.Response.Body) > 8<<20 {
		t.Errorf("%s: waits %s for %d bytes", class, a.RetryAfter, len(a.Response.Body))
	}
	harmless(t, class.String(), a.Message, a.Response.Body)
}

func (r *receiver) asks(t *testing.T, tool host.Verifier, p *preyed) {
	ctx, cancel := contextUntil(t, p.stuck)
	defer cancel()
	v := tool.Verify(ctx, call(`{}`))
	if v.Kind != r.asked {
		t.Errorf("asked: %+v, want %v", v, r.asked)
	}
	if n := p.requests.Swap(0); n != 1 {
		t.Errorf("asked with %d requests", n)
	}
	if v.Kind != host.Found && v.Code == "" {
		t.Error("asked: nothing says why")
	}
	harmless(t, "asked", v.Message, v.Response.Body)
}

// harmless looks through what is kept of an answer.
func harmless(t *testing.T, of, message string, body []byte) {
	t.Helper()
	if len(message) > 1100 || !utf8.ValidString(message) {
		t.Errorf("%s: a message of %d bytes: %.200q", of, len(message), message)
	}
	if strings.Contains(message, "s3cr3t") || strings.Contains(string(body), "s3cr3t") {
		t.Errorf("%s: the secret is in %.200q or in the body", of, message)
	}
}

// A receiver answers each request twice. On a connection that is kept the second
// answer may be taken for that to the next request: a payment that was never
// looked at would have another one's receipt.
//
// Seen red with kept connections, for one of some hundred calls.
func TestASecondAnswerIsNotTheNextCalls(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	url := rawServer(t, func(conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			if req.Method == http.MethodGet {
				body = fmt.Appendf(nil, "%q", req.URL.Path)
			}
			requests.Add(1)
			answer := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(body), body)
			_, _ = io.WriteString(conn, answer+answer)
		}
	})
	pays := toward(t, host.Verify, url, httptool.Config{Verify: &httptool.Verify{URL: "/things/{key}"}})
	reads := toward(t, host.Read, url, httptool.Config{URL: "/{n}"})
	const each, workers = 250, 4
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for i := range each {
				n := fmt.Sprintf("%d-%d", worker, i)
				body := fmt.Sprintf(`{"n":%q}`, n)
				if a := pays.Try(t.Context(), call(body)); a.Outcome != applied || string(a.Response.Body) != body {
					t.Errorf("%s was answered %s, %v %s", body, a.Response.Body, a.Outcome, a.Message)
				}
				if a := reads.Try(t.Context(), call(body)); a.Outcome != applied || string(a.Response.Body) != `"/`+n+`"` {
					t.Errorf("the read %s was answered %s, %v %s", n, a.Response.Body, a.Outcome, a.Message)
				}
			}
		})
	}
	all.Wait()
	if n := requests.Load(); n != 2*each*workers {
		t.Errorf("%d requests", n)
	}
}

// A receiver that answers before it has read the request has answered it.
func TestAnAnswerBeforeTheRequestWasRead(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]host.Outcome{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}":               applied,
		"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n":          rejected,
		"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n":                 unknown,
		"HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n":                notApplied,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}": unknown,
	} {
		heard := make(chan struct{})
		url := rawServer(t, func(conn net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(conn)) // the head
			_, _ = io.WriteString(conn, answer)
			if want == unknown {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			<-heard // the rest is never read
		})
		body := `{"a":"` + strings.Repeat("x", 12<<20) + `"}` // more than any buffer between the two
		a := toward(t, host.Once, url, httptool.Config{}).Try(t.Context(), call(body))
		close(heard)
		if a.Outcome != want {
			t.Errorf("%.40q: %v %s: %s", answer, a.Outcome, a.Code, a.Message)
		}
	}
}

// A read that is led on a hundred times has made six requests, wherever it was
// led; a write and a query have made one.
func TestAHundredRedirects(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{"all different": "/%d", "in a circle": "/things", "by host": "//127.0.0.1:%[2]s/%[1]d"} {
		for _, class := range []host.Class{host.Read, host.Keyed, host.Verify, host.Once} {
			var n atomic.Int32
			p := prey(t, func(v *victim) {
				_, port, _ := net.SplitHostPort(v.LocalAddr().String())
				to := location
				if strings.Contains(to, "%") {
					to = fmt.Sprintf(location, n.Add(1), port)
					to, _, _ = strings.Cut(to, "%!")
				}
				v.says("HTTP/1.1 302 Found\r\nLocation: " + to + "\r\nContent-Length: 0\r\n\r\n")
			})
			tool := toward(t, class, p.url, httptool.Config{Verify: &httptool.Verify{URL: "/things/{key}"}})
			want, times := unknown, int32(1)
			if class == host.Read {
				want, times = notApplied, 6
			}
			a := tool.Try(t.Context(), call(`{}`))
			if got := p.requests.Swap(0); a.Outcome != want || a.Code != "http_302" || got != times {
				t.Errorf("%s, %s: %d requests, %+v", name, class, got, a)
			}
			v := tool.(host.Verifier).Verify(t.Context(), call(`{}`))
			if got := p.requests.Load(); v.Kind != host.NoAnswer || got != 1 {
				t.Errorf("%s, %s: asked with %d requests: %+v", name, class, got, v)
			}
		}
	}
}
