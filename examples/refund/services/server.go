package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const maxBody = 1 << 20

// request is one that came in.
type request struct {
	*http.Request
	tool string
	key  string
	body []byte // compact JSON, or empty
}

// reply is what a service answers.
type reply struct {
	status int
	body   any
	effect bool // something happened: it goes into the ledger before it is answered
}

func refused(status int, code string) reply {
	return reply{status: status, body: map[string]string{"error": code}}
}

// route is one thing that a service can do.
type route struct {
	pattern string
	tool    string
	do      func(w *world, q *request) reply
	// key says where the request has its key; nil for the header.
	key func(q *request) string
	// single refuses a key that is still being worked on.
	single bool
}

// server is the services behind one handler.
type server struct {
	faults faults
	world  *world
	tools  []string
	mux    *http.ServeMux
	done   chan struct{} // closed when the process ends: what is held is dropped

	out sync.Mutex // guards announce
	say io.Writer

	working sync.Mutex // guards keys
	keys    map[string]bool
}

func newServer(w *world, announce io.Writer) *server {
	s := &server{world: w, mux: http.NewServeMux(), done: make(chan struct{}), say: announce, keys: map[string]bool{}}
	for _, rt := range routes {
		s.tools = append(s.tools, rt.tool)
		s.mux.HandleFunc(rt.pattern, func(rw http.ResponseWriter, r *http.Request) { s.serve(rt, rw, r) })
	}
	s.mux.HandleFunc("POST /_control", s.control)
	s.mux.HandleFunc("GET /_ledger", func(rw http.ResponseWriter, _ *http.Request) {
		answer(rw, reply{status: http.StatusOK, body: s.world.ledger.all()})
	})
	return s
}

// setFault adds a fault as it was asked for.
func (s *server) setFault(f Fault) error {
	if err := f.check(s.tools); err != nil {
		return err
	}
	s.faults.add(f)
	return nil
}

func (s *server) control(rw http.ResponseWriter, r *http.Request) {
	var f Fault
	d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(&f)
	if err == nil {
		err = s.setFault(f)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// serve carries one request through its fault. What is dropped answers nothing:
// the connection is closed.
func (s *server) serve(rt route, rw http.ResponseWriter, r *http.Request) {
	q, err := read(rt, r)
	if err != nil {
		answer(rw, refused(http.StatusBadRequest, err.Error()))
		return
	}
	f := s.faults.next(rt.tool, r.URL.RequestURI(), q.body)
	if err := s.world.note(q, f.Mode); err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	if !s.before(f, rw, q) {
		return
	}
	rep, err := s.work(rt, f, q)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	s.after(f, rw, q, rep)
}

// work does what was asked for. When it returns the request is no longer in
// work, though perhaps it is never answered.
func (s *server) work(rt route, f Fault, q *request) (reply, error) {
	if rt.single && q.key != "" {
		if !s.begin(q.key) {
			return refused(http.StatusConflict, "key_in_work"), nil
		}
		defer s.end(q.key)
	}
	if f.Mode == modeSlow && !s.sleep(f.wait) {
		panic(http.ErrAbortHandler)
	}
	return s.world.do(rt, q, f.Mode == modeDupAck)
}

// before does what a fault does before anything happens, and reports whether
// the request goes on. A held request has no way on: it can never happen later.
func (s *server) before(f Fault, rw http.ResponseWriter, q *request) bool {
	switch f.Mode {
	case modeLost, modeDown:
		panic(http.ErrAbortHandler)
	case modeHoldBefore:
		s.announce(q, "before")
		s.untilGone(q)
	case mode500:
		answer(rw, refused(http.StatusInternalServerError, "nothing_done"))
	default:
		if f.status == 0 {
			return true
		}
		if f.RetryAfter > 0 {
			rw.Header().Set("Retry-After", strconv.Itoa(f.RetryAfter))
		}
		answer(rw, refused(f.status, "out_of_order"))
	}
	return false
}

// after answers, or does what the fault does instead.
func (s *server) after(f Fault, rw http.ResponseWriter, q *request, rep reply) {
	switch f.Mode {
	case modeHoldAfter:
		s.announce(q, "after")
		s.untilGone(q)
	case modeCommitHang:
		s.untilGone(q)
	case modeCommit500:
		answer(rw, refused(http.StatusInternalServerError, "out_of_order"))
	default:
		answer(rw, rep)
	}
}

// untilGone holds the connection until nobody is at its other end.
func (s *server) untilGone(q *request) {
	select {
	case <-q.Context().Done():
	case <-s.done:
	}
	panic(http.ErrAbortHandler)
}

func (s *server) announce(q *request, when string) {
	s.out.Lock()
	defer s.out.Unlock()
	key := q.key
	if key == "" {
		key = "-"
	}
	// If nobody reads the announcements there is nobody to tell.
	_, _ = fmt.Fprintf(s.say, "held %s %s %s\n", q.tool, when, key)
}

func (s *server) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.done:
		return false
	}
}

func (s *server) begin(key string) bool {
	s.working.Lock()
	defer s.working.Unlock()
	if s.keys[key] {
		return false
	}
	s.keys[key] = true
	return true
}

func (s *server) end(key string) {
	s.working.Lock()
	defer s.working.Unlock()
	delete(s.keys, key)
}

func read(rt route, r *http.Request) (*request, error) {
	q := &request{Request: r, tool: rt.tool}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, body); err != nil {
			return nil, fmt.Errorf("the body is not JSON: %w", err)
		}
		q.body = b.Bytes()
	}
	if rt.key != nil {
		q.key = rt.key(q)
	} else {
		q.key = r.Header.Get("Idempotency-Key")
	}
	return q, nil
}

func answer(rw http.ResponseWriter, rep reply) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(rep.status)
	// Whoever is gone does not get it; what happened is in the ledger.
	_ = json.NewEncoder(rw).Encode(rep.body)
}
