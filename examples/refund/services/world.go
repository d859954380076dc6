package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// routes are all that the services can do.
var routes = slices.Concat(ticketRoutes, orderRoutes, payRoutes, mailRoutes, llmRoutes)

// world is the state of all services. It is what the ledger's effects add up
// to, so that it survives the process.
type world struct {
	mu     sync.Mutex // held from looking at the ledger to writing into it
	ledger *ledger
	orders []Order
}

// note records that a request came in.
func (w *world) note(q *request, fault string) error {
	line := q.line(kindRequest)
	if fault != modeOK {
		line.Fault = fault
	}
	return w.ledger.append(line)
}

// do carries out a request. If it has an effect, that is on disk when do
// returns. With dupAck a key that is known gets its first answer again.
func (w *world) do(rt route, q *request, dupAck bool) (reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dupAck {
		if first, ok := w.first(q); ok {
			return again(first), nil
		}
	}
	rep := rt.do(w, q)
	if !rep.effect {
		return rep, nil
	}
	text, err := json.Marshal(rep.body)
	if err != nil {
		return reply{}, err
	}
	line := q.line(kindEffect)
	line.Status, line.Answer = rep.status, text
	return rep, w.ledger.append(line)
}

// first finds the effect that the key of the request already had.
func (w *world) first(q *request) (Line, bool) {
	if q.key == "" {
		return Line{}, false
	}
	for _, e := range w.ledger.effects(q.tool) {
		if e.Key == q.key {
			return e, true
		}
	}
	return Line{}, false
}

// latest finds the last effect on the same address.
func (w *world) latest(q *request) (Line, bool) {
	for _, e := range slices.Backward(w.ledger.effects(q.tool)) {
		if e.Path == q.URL.RequestURI() {
			return e, true
		}
	}
	return Line{}, false
}

// put does what is harmless to repeat: the same content again is no effect.
func (w *world) put(q *request, body any) reply {
	if last, ok := w.latest(q); ok && string(last.Body) == string(q.body) {
		return again(last)
	}
	return reply{status: http.StatusOK, body: body, effect: true}
}

// found answers a question for the effects of a key.
func (w *world) found(tool, key string) reply {
	data := []json.RawMessage{}
	for _, e := range w.ledger.effects(tool) {
		if e.Key == key {
			data = append(data, e.Answer)
		}
	}
	return reply{status: http.StatusOK, body: map[string]any{"data": data}}
}

func again(e Line) reply { return reply{status: e.Status, body: e.Answer} }

func (q *request) line(kind string) *Line {
	return &Line{Kind: kind, Tool: q.tool, Method: q.Method, Path: q.URL.RequestURI(), Key: q.key, Body: q.body}
}

// fits reads the body into v.
func (q *request) fits(v any) bool { return json.Unmarshal(q.body, v) == nil }

func keyInQuery(name string) func(*request) string {
	return func(q *request) string { return q.URL.Query().Get(name) }
}
