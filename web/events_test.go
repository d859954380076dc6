package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	pawl "github.com/pawl-dev/pawl/runtime"
	"github.com/pawl-dev/pawl/web"
)

// event is one of a stream; a comment has only text.
type event struct{ id, name, data, comment string }

// events is a stream that is read one event at a time.
type events struct {
	t    testing.TB
	body *bufio.Scanner
	end  func()
}

func (s *site) open(path string, header ...string) *events {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	resp, err := s.client.Do(s.request(http.MethodGet, path, "", header...).WithContext(ctx))
	if err != nil {
		s.t.Fatal(err)
	}
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || got != "text/event-stream" {
		s.t.Fatalf("%s: %d, %s", path, resp.StatusCode, got)
	}
	e := &events{s.t, bufio.NewScanner(resp.Body), func() { cancel(); resp.Body.Close() }}
	s.t.Cleanup(e.end)
	if first, ok := e.next(); !ok || first.comment != "open" {
		s.t.Fatalf("the stream begins with %+v", first)
	}
	return e
}

// next is the next event or comment; false at the end of the stream.
func (e *events) next() (got event, ok bool) {
	for e.body.Scan() {
		line := e.body.Text()
		field, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			return got, true
		case field == "":
			got.comment = value
		case field == "id":
			got.id = value
		case field == "event":
			got.name = value
		case field == "data":
			got.data = value
		default:
			e.t.Errorf("a line %q", line)
		}
	}
	return got, false
}

// checkpoint is the next event of a run.
func (e *events) checkpoint() (s pawl.Summary, id string) {
	e.t.Helper()
	for {
		got, ok := e.next()
		if !ok {
			e.t.Fatalf("the stream ended: %v", e.body.Err())
		}
		if got.comment != "" {
			continue
		}
		if err := json.Unmarshal([]byte(got.data), &s); err != nil || got.name != "checkpoint" || got.id != itoa(s.Seq) {
			e.t.Fatalf("%+v: %v", got, err)
		}
		return s, got.id
	}
}

func stateOf(data string) pawl.RunState {
	var s pawl.Summary
	_ = json.Unmarshal([]byte(data), &s)
	return s.State
}

func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	s := serve(t, f.engine, nil)
	run := f.inState(pawl.StateRunning)
	e := s.open("api/v1/runs/running/events")
	now, _ := e.checkpoint()
	if now.Run != run.ID() || now.State != pawl.StateRunning {
		t.Errorf("%+v", now)
	}
	f.world.release()
	for last := now.Seq; now.State != pawl.StateCompleted; last = now.Seq {
		if now, _ = e.checkpoint(); now.Seq < last {
			t.Fatalf("seq %d after %d", now.Seq, last)
		}
	}
	s.get("api/v1/runs/nobody/events").want(t, http.StatusNotFound)
}

// What the client has is not sent again, unless no record decides the state.
//
// Seen red with Last-Event-ID ignored, and with it obeyed in every state.
func TestLastEventID(t *testing.T) {
	t.Parallel()
	f := setup(t, func(o *pawl.Options) { o.NoRecovery = true })
	waiting := f.inState(pawl.StateWaiting)
	running := f.inState(pawl.StateRunning)
	f.reopen(nil)
	s := serve(t, f.engine, nil)

	_, id := s.open("api/v1/runs/waiting/events").checkpoint()
	for _, garbage := range []string{"", "abc", "-1", "1e3", "99999999999999999999999", "\u00e9", id + ".0", `"` + id + `"`, "1"} {
		if _, got := s.open("api/v1/runs/waiting/events", "Last-Event-ID: "+garbage).checkpoint(); got != id {
			t.Errorf("%q: id %s, want %s", garbage, got, id)
		}
	}

	again := s.open("api/v1/runs/waiting/events", "Last-Event-ID: "+id)
	if err := f.find(waiting.ID()).Resume(); err != nil {
		t.Fatal(err)
	}
	if now, got := again.checkpoint(); got == id {
		t.Errorf("sent again: %s %s", got, now.State)
	}

	_, id = s.open("api/v1/runs/running/events").checkpoint()
	if now, got := s.open("api/v1/runs/"+running.ID()+"/events", "Last-Event-ID: "+id).checkpoint(); got != id || now.State != pawl.StateInterrupted {
		t.Errorf("%s %s", got, now.State)
	}
}

// watched is an engine that has only changes.
type watched struct {
	web.Engine
	changed chan struct{}
}

func (w *watched) Watch(string) (<-chan struct{}, func()) { return w.changed, func() {} }

// connection is a client's that reads, until it is told not to.
type connection struct {
	*httptest.ResponseRecorder
	stuck    bool
	deadline time.Time
}

func (c *connection) SetWriteDeadline(at time.Time) error { c.deadline = at; return nil }

func (c *connection) Write(p []byte) (int, error) {
	if !c.stuck {
		return c.ResponseRecorder.Write(p)
	}
	if c.deadline.IsZero() {
		time.Sleep(time.Hour)
		return 0, errors.New("written without a deadline")
	}
	time.Sleep(time.Until(c.deadline))
	return 0, os.ErrDeadlineExceeded
}

// streamed serves a stream of all runs in a bubble for the time given.
func streamed(t *testing.T, c *connection, changed chan struct{}, longest time.Duration) (took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/events", nil).WithContext(ctx)
	r.RemoteAddr = "127.0.0.1:1"
	began := time.Now()
	web.Handler(&watched{changed: changed}, nil).ServeHTTP(c, r)
	return time.Since(began)
}

// A stream in which nothing happens says every 15 s that it is alive, and one in
// which much happens says so once a second.
//
// Seen red without the comment, and without the pause.
func TestPaceOfAStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		quiet := &connection{ResponseRecorder: httptest.NewRecorder()}
		streamed(t, quiet, nil, 61*time.Second)
		if said := quiet.Body.String(); strings.Count(said, ": alive\n\n") != 4 || strings.Count(said, "event: changed\n") != 1 {
			t.Errorf("%q", said)
		}
		if !quiet.deadline.IsZero() {
			t.Error("a stream that rests has a deadline")
		}
		changed := make(chan struct{}, 1)
		ctx, stop := context.WithCancel(t.Context())
		var writer sync.WaitGroup
		writer.Go(func() {
			for ctx.Err() == nil {
				select {
				case changed <- struct{}{}:
				default:
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
		busy := &connection{ResponseRecorder: httptest.NewRecorder()}
		streamed(t, busy, changed, 10*time.Second+time.Millisecond)
		stop()
		writer.Wait()
		if n := strings.Count(busy.Body.String(), "event: changed\n"); n < 9 || n > 11 {
			t.Errorf("%d events in 10 s", n)
		}
	})
}

// A reader that does not read is gone after a while.
//
// Seen red without the deadline of a write.
func TestReaderThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := &connection{ResponseRecorder: httptest.NewRecorder(), stuck: true}
		if took := streamed(t, stuck, nil, time.Hour); took > 10*time.Second {
			t.Errorf("written to for %v", took)
		}
	})
}

// A server that stops as the handler's documentation says waits for no stream.
//
// Seen red without RegisterOnShutdown.
func TestShutdownEndsStreams(t *testing.T) {
	f := setup(t)
	f.inState(pawl.StateFailed)
	before := goleak.IgnoreCurrent()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	server := &http.Server{
		Handler:           web.Handler(f.engine, nil),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: time.Minute,
		WriteTimeout:      time.Minute,
	}
	server.RegisterOnShutdown(end)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{}
	var streams []*events
	for _, path := range []string{"runs/failed/events", "events", "runs/failed/events"} {
		resp, err := (&http.Client{Transport: transport}).Get("http://" + l.Addr().String() + "/api/v1/" + path)
		if err != nil {
			t.Fatal(err)
		}
		e := &events{t, bufio.NewScanner(resp.Body), func() { resp.Body.Close() }}
		if first, ok := e.next(); !ok || first.comment != "open" {
			t.Fatalf("%+v", first)
		}
		streams = append(streams, e)
	}
	longest, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := server.Shutdown(longest); err != nil {
		t.Errorf("streams keep the server: %v", err)
		end()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	for _, e := range streams {
		for ok := true; ok; {
			_, ok = e.next()
		}
		e.end()
	}
	transport.CloseIdleConnections()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
