package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Options says how [Serve] serves.
type Options struct {
	// Listen is the address. Defaults to a free port of 127.0.0.1.
	Listen string
	// Dir is where the ledger goes; there must be none yet. Required.
	Dir string
	// Say is told "listening ADDR", and of requests that are held. Required.
	Say io.Writer
}

// Serve serves until ctx ends; that is no error. What is held then is dropped
// and never happens.
func Serve(ctx context.Context, p *Plan, o Options) (err error) {
	b, err := openBook(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return err
	}
	s := &server{plan: p, book: b, say: o.Say, done: make(chan struct{})}
	if _, err := fmt.Fprintf(o.Say, "listening %s\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	close(s.done)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = h.Shutdown(stopping)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// server is the receivers behind one handler.
type server struct {
	plan   *Plan
	book   *book
	faults faults
	done   chan struct{} // closed at the end

	out sync.Mutex // guards say
	say io.Writer
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method + " " + r.URL.Path {
	case "POST /_control":
		s.control(w, r)
		return
	case "GET /_ledger":
		writeJSON(w, http.StatusOK, s.book.all())
		return
	}
	q, err := read(s.plan, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	if err := s.serve(w, q); err != nil {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
	}
}

func (s *server) control(w http.ResponseWriter, r *http.Request) {
	var f fault
	d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&f)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.faults.add(f)
	w.WriteHeader(http.StatusNoContent)
}

// serve carries a request through its fault.
func (s *server) serve(w http.ResponseWriter, q *request) error {
	f := s.faults.next(q)
	line := q.line(KindRequest)
	line.Mode = f.Mode
	if err := s.book.add(line); err != nil {
		return err
	}
	switch f.Mode {
	case modeLost:
		panic(http.ErrAbortHandler)
	case modeHoldBefore:
		s.hold(q, "before")
	case mode500:
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "nothing_done"})
		return nil
	case modeSlow:
		select {
		case <-time.After(f.wait):
		case <-s.done:
			panic(http.ErrAbortHandler)
		}
	}
	status, body, err := s.do(q, f.Mode == modeDupAck)
	if err != nil {
		return err
	}
	switch f.Mode {
	case modeHoldAfter:
		s.hold(q, "after")
	case modeCommitHang:
		s.untilGone(q)
	case modeCommit500:
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "out_of_order"})
		return nil
	}
	line = q.line(KindAnswer)
	line.Status, line.Answer = status, body
	if err := s.book.add(line); err != nil {
		return err
	}
	writeJSON(w, status, body)
	return nil
}

// do answers a question, or does what was asked for. The effect is on the disk
// when it returns.
func (s *server) do(q *request, dupAck bool) (int, json.RawMessage, error) {
	t := q.tool
	if q.asks {
		first, ok := s.book.effect(q.id, q.key)
		if !ok {
			return t.Absent.Status, t.Absent.Body, nil
		}
		fields := q.fields
		fields["answer"] = first.Answer
		body, err := Fill(t.Found.Body, fields)
		return t.Found.Status, body, err
	}
	answer, err := Fill(t.Answer, q.fields)
	if err != nil || !t.Writes {
		return t.Status, answer, err
	}
	line := q.line(KindEffect)
	line.Status, line.Answer = t.Status, answer
	line, err = s.book.apply(line, t.Keyed || dupAck)
	return line.Status, line.Answer, err
}

func (q *request) line(kind string) Line {
	l := Line{Kind: kind, Tool: q.name(), Method: q.Method, Path: q.uri, Key: q.key}
	if len(q.body) > 0 {
		if l.Body = q.body; !json.Valid(q.body) {
			l.Body, _ = json.Marshal(string(q.body)) // a text always can be
		}
	}
	return l
}

// hold announces a request and never goes on with it.
func (s *server) hold(q *request, when string) {
	s.out.Lock()
	key := q.key
	if key == "" {
		key = "-"
	}
	_, _ = fmt.Fprintf(s.say, "held %s %s %s\n", q.name(), when, key) // if nobody reads it there is nobody to tell
	s.out.Unlock()
	s.untilGone(q)
}

// untilGone holds the connection until nobody is at its other end.
func (s *server) untilGone(q *request) {
	select {
	case <-q.Context().Done():
	case <-s.done:
	}
	panic(http.ErrAbortHandler)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever is gone does not get it
}
